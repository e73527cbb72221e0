/** @import { Assessment } from "../../net/models_api.js" */

import { html } from "../../lib.js";
import { fitWords } from "../../text/models_words.js";

const WIDTH = 1000;
const LEAST = 6;

/**
 * What a model takes of the memory there is: its weights, then a conversation, then what reading it takes.
 *
 * @param {{assessment: Assessment}} props
 */
export function FitBar({ assessment }) {
  const { fits, kv_bytes, needed_bytes, prefill_bytes, usable_bytes, weights_bytes } = assessment;
  if (needed_bytes === null || usable_bytes <= 0) return null;
  const whole = Math.max(usable_bytes, needed_bytes);
  const parts = /** @type {const} */ ([["weights", weights_bytes], ["kv", kv_bytes], ["prefill", prefill_bytes]]);
  let from = 0;
  return html`<svg
    class=${`fit ${fits ? "" : "fit--over"}`}
    viewBox=${`0 0 ${WIDTH} 8`}
    preserveAspectRatio="none"
    role="img"
    aria-label=${fitWords(assessment)}
  >
    <title>${fitWords(assessment)}</title>
    <rect class="fit__all" width=${WIDTH} height="8" />
    ${parts.map(([name, size]) => {
      const width = size ? Math.max(LEAST, (size / whole) * WIDTH) : 0;
      const at = from;
      from += width;
      return html`<rect key=${name} class=${`fit__${name}`} x=${at} width=${width} height="8" />`;
    })}
    ${!fits && html`<rect class="fit__limit" x=${(usable_bytes / whole) * WIDTH - 2} width="4" height="8" />`}
  </svg>`;
}
