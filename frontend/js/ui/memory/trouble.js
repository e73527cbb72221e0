import { html } from "../../lib.js";
import { Icon } from "../icons.js";

/**
 * What could not be shown, why, and the way to try again.
 *
 * @param {{title: string, words: string, busy?: boolean, onRetry: () => unknown}} props
 */
export function Trouble({ title, words, busy = false, onRetry }) {
  return html`<div class="memory__notice" role="alert">
    <${Icon} name="warning" />
    <h2>${title}</h2>
    <p>${words}</p>
    <button type="button" class="button" disabled=${busy} onClick=${() => void onRetry()}>Try again</button>
  </div>`;
}
