/** @import { Stats } from "../../net/status_api.js" */

import { html } from "../../lib.js";
import { factsOf } from "../../text/status_words.js";
import { Icon } from "../icons.js";

/** @param {{stats: Stats | null, failed: boolean}} props */
export function Facts({ stats, failed }) {
  return html`<section class="set__part" aria-labelledby="facts" aria-busy=${stats === null}>
    <h2 id="facts">Model and engine</h2>
    ${stats
      ? html`<${Warnings} warnings=${stats.engine.warnings} />
          <dl class="pairlist" data-testid="facts">
            ${factsOf(stats).map(([term, value]) => html`<dt key=${term}>${term}</dt><dd key=${`${term} value`} dir="auto">${value}</dd>`)}
          </dl>`
      : html`<p class="row__note">${failed ? "Known when Fireside answers." : "Loading…"}</p>`}
  </section>`;
}

/** @param {{warnings: readonly string[]}} props */
function Warnings({ warnings }) {
  if (warnings.length === 0) return null;
  return html`<ul class="warnings" aria-label="Warnings of the engine">
    ${warnings.map((warning) => html`<li key=${warning} class="set__error"><${Icon} name="warning" /><span>${warning}</span></li>`)}
  </ul>`;
}
