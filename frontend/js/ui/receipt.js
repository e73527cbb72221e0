/** @import { TurnReceipt } from "../state/turn_receipt.js" */

import { html } from "../lib.js";
import { receiptLines } from "../text/message_words.js";

/** What the turn cost and how it was made. @param {{turn: TurnReceipt}} props */
export function Receipt({ turn }) {
  return html`<dl class="facts receipt" aria-label="Receipt" data-testid="receipt">
    ${receiptLines(turn).map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
