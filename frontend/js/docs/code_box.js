import { html, useSignal } from "../lib.js";
import { copyText } from "../dom/clipboard.js";

const SHOWN_MS = 2_000;

/** Text in a box, to copy. @param {{title: string, text: string}} props */
export function CodeBox({ title, text }) {
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyText(text);
    setTimeout(() => (copied.value = false), SHOWN_MS);
  };
  return html`<figure class="code">
    <figcaption>
      <span>${title}</span>
      <button type="button" class="code__copy" aria-label=${`Copy ${title}`} onClick=${copy}>
        <span role="status">${copied.value ? "Copied" : "Copy"}</span>
      </button>
    </figcaption>
    <pre tabindex="0" role="region" aria-label=${title}><code>${text}</code></pre>
  </figure>`;
}
