/** @import { Receipt as ReceiptValue } from "../protocol.d.ts" */

import { html } from "../lib.js";
import { receiptLines } from "../text/message_words.js";

/** What the answer cost and how it was made. @param {{receipt: ReceiptValue}} props */
export function Receipt({ receipt }) {
  return html`<dl class="facts receipt" aria-label="Receipt" data-testid="receipt">
    ${receiptLines(receipt).map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
