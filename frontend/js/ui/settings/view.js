import { html, useLayoutEffect, useRef } from "../../lib.js";
import { useApp } from "../context.js";
import { Sections } from "../sections.js";
import { About } from "./about.js";
import { Appearance } from "./appearance.js";
import { Approvals } from "./approvals.js";
import { Instructions } from "./instructions.js";
import { Keys } from "./keys.js";
import { McpServers } from "./mcp.js";
import { Presets } from "./presets.js";
import { Shortcuts } from "./shortcuts.js";
import { Tools } from "./tools.js";

export const SECTIONS = /** @type {const} */ ([
  { place: "approvals", title: "Approvals", Component: Approvals },
  { place: "tools", title: "Tools", Component: Tools },
  { place: "mcp", title: "MCP servers", Component: McpServers },
  { place: "instructions", title: "Instructions", Component: Instructions },
  { place: "presets", title: "Presets", Component: Presets },
  { place: "keys", title: "API keys", Component: Keys },
  { place: "appearance", title: "Appearance", Component: Appearance },
  { place: "shortcuts", title: "Keyboard shortcuts", Component: Shortcuts },
  { place: "about", title: "About", Component: About },
]);

export function SettingsView() {
  const { router } = useApp();
  const open = SECTIONS.find(({ place }) => place === router.place.value) ?? SECTIONS[0];
  const view = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => view.current?.scrollTo(0, 0), [open]);
  return html`<section class="view" aria-label="Settings" ref=${view}>
    <div class="settings">
      <${Sections} view="settings" label="Sections of the settings" sections=${SECTIONS} open=${open.place} />
      <div class="set">
        <h2>${open.title}</h2>
        <${open.Component} key=${open.place} />
      </div>
    </div>
  </section>`;
}
