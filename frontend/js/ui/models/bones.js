import { html } from "../../lib.js";

/** What stands for rows that are on their way. @param {{words: string}} props  for screen readers */
export function Bones({ words }) {
  return html`<div class="set__skeleton" role="status">
    <span class="visually-hidden">${words}</span>
    <span class="set__bone"></span><span class="set__bone"></span><span class="set__bone"></span>
  </div>`;
}
