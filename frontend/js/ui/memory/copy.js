import { html, useSignal } from "../../lib.js";
import { copyText } from "../../dom/clipboard.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";

const SHOWN_MS = 2_000;

/** @param {{label: string, words?: string, text: () => string}} props  words: beside the icon */
export function Copy({ label, words = "", text }) {
  const { announcer } = useApp();
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyText(text());
    announcer.say(copied.value ? "Copied" : "The browser did not allow copying");
    setTimeout(() => (copied.value = false), SHOWN_MS);
  };
  const name = words ? undefined : label;
  return html`<button type="button" class="action" aria-label=${name} title=${label} onClick=${copy}>
    <${Icon} name=${copied.value ? "check" : "copy"} />${words && (copied.value ? "Copied" : words)}
  </button>`;
}
