import { html, useSignal } from "../lib.js";
import { copyText } from "../dom/clipboard.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

const SHOWN_MS = 2_000;

/**
 * Copies something, and says so in its place and to screen readers.
 *
 * @param {{text: () => string, label: string, words?: string}} props  words: beside the icon, "" for the icon alone
 */
export function CopyButton({ text, label, words = "Copy" }) {
  const app = useApp();
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyAndTell(app, text());
    setTimeout(() => (copied.value = false), SHOWN_MS);
  };
  return html`<button type="button" class="action" aria-label=${label} title=${label} onClick=${copy}>
    <${Icon} name=${copied.value ? "check" : "copy"} />${words && (copied.value ? "Copied" : words)}
  </button>`;
}

/**
 * @param {{announcer: import("../dom/announcer.js").Announcer}} app
 * @param {string} text
 * @returns {Promise<boolean>} whether the browser took it
 */
export async function copyAndTell({ announcer }, text) {
  const copied = await copyText(text);
  announcer.say(copied ? "Copied" : "The browser did not allow copying");
  return copied;
}
