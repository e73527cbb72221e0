/** @import { Row } from "./rows.js" */

import { html } from "../../lib.js";
import { Icon } from "../icons.js";
import { Marked } from "../marked.js";

/** A row that is chosen by the keys of the field, or by a click. @param {{id: string, row: Row, chosen: boolean, onTake: () => void}} props */
export function Option({ id, row: { icon, title, note, keys, snippet }, chosen, onTake }) {
  return html`<div
    class="find-row"
    id=${id}
    role="option"
    aria-selected=${chosen}
    onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}
    onClick=${onTake}
  >
    <${Icon} name=${icon} />
    <span class="find-row__text">
      <span class="find-row__title" dir="auto">${title}</span>
      ${snippet &&
      html`<span class="find-row__snippet" dir="auto"><${Marked} pieces=${snippet} /></span>`}
    </span>
    ${note && html`<span class="find-row__note">${note}</span>`}
    ${keys && html`<kbd aria-hidden="true">${keys}</kbd>`}
  </div>`;
}
