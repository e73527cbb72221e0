import { html } from "../../lib.js";
import { useApp } from "../context.js";
import { ChatInstructions } from "./instructions.js";
import { PresetPart } from "./preset_part.js";
import { ToolsPart } from "./tools_part.js";

/** What can be set in a chat; loaded with the panel's first opening. */
export function PanelParts() {
  const { session } = useApp();
  return html`<${PresetPart} /><${ChatInstructions} key=${session.id.value} /><${ToolsPart} />`;
}
