import { html, useSignal } from "../lib.js";

/**
 * What can be opened and closed; what is inside is made when it opens for the first time.
 *
 * @param {{title: any, kind: string, id?: string, open?: boolean, children: () => any}} props
 */
export function Fold({ title, kind, id, open = false, children }) {
  const drawn = useSignal(open);
  const toggle = (/** @type {Event} */ event) => {
    if (/** @type {HTMLDetailsElement} */ (event.currentTarget).open) drawn.value = true;
  };
  return html`<details class=${`fold fold--${kind}`} id=${id} open=${open} onToggle=${toggle}>
    <summary>${title}</summary>
    ${drawn.value && html`<div class="fold__inside">${children()}</div>`}
  </details>`;
}
