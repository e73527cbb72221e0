import { html, useSignal } from "../lib.js";
import { copyText } from "../dom/clipboard.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

const SHOWN_MS = 2_000;

/** @param {{text: () => string, brief?: boolean}} props  brief: the icon alone */
export function CopyButton({ text, brief = false }) {
  const { announcer } = useApp();
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyText(text());
    announcer.say(copied.value ? "Copied" : "The browser did not allow copying");
    setTimeout(() => (copied.value = false), SHOWN_MS);
  };
  return html`<button type="button" class="action" aria-label="Copy message" onClick=${copy}>
    <${Icon} name=${copied.value ? "check" : "copy"} />${!brief && (copied.value ? "Copied" : "Copy")}
  </button>`;
}
