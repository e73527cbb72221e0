/** @import { StatusSampler } from "../../state/status_sampler.js" */
/** @import { Sample } from "../../state/status_series.js" */
/** @import { Series } from "../../text/status_words.js" */

import { html } from "../../lib.js";
import { summaryOf } from "../../state/status_series.js";
import { SERIES } from "../../text/status_words.js";
import { Chart } from "./chart.js";

/** The last five minutes. @param {{sampler: StatusSampler}} props */
export function Charts({ sampler }) {
  const samples = sampler.samples.value;
  const stats = sampler.stats.value;
  return html`<section class="set__part" aria-labelledby="live" aria-busy=${stats === null}>
    <h2 id="live">The last five minutes</h2>
    <ul class="charts">
      ${SERIES.map((series) => {
        const shown = samples.at(-1)?.figures[series.name] ?? null;
        return html`<li key=${series.name} class="figure" data-series=${series.name}>
          <p class="figure__label">${series.label}</p>
          <p class="figure__now">${nowWords(series, samples, shown)}</p>
          <p class="figure__note">${stats ? series.note(stats) : " "}</p>
          <${Chart} series=${series} samples=${samples} />
        </li>`;
      })}
    </ul>
    <details class="figures">
      <summary>The same as a table</summary>
      <${Table} samples=${samples} />
    </details>
  </section>`;
}

/** What happens in moments has no value now, but a last one. @param {Series} series @param {readonly Sample[]} samples @param {number | null} shown */
function nowWords(series, samples, shown) {
  if (series.name === "first") {
    const summary = summaryOf(samples, "first");
    return summary ? series.words(summary.last) : "–";
  }
  return shown === null ? "–" : series.words(shown);
}

/** @param {{samples: readonly Sample[]}} props */
function Table({ samples }) {
  return html`<div class="scroller" tabindex="0" role="region" aria-label="Figures of the last five minutes">
    <table class="table table--figures">
      <thead>
        <tr>
          <th scope="col">Figure</th><th scope="col">Last</th><th scope="col">Least</th><th scope="col">Mean</th><th scope="col">Most</th>
        </tr>
      </thead>
      <tbody>
        ${SERIES.map(({ name, label, words }) => {
          const summary = summaryOf(samples, name);
          const cell = (/** @type {number | undefined} */ value) => html`<td>${value === undefined ? "–" : words(value)}</td>`;
          return html`<tr key=${name}>
            <th scope="row">${label}</th>
            ${cell(summary?.last)}${cell(summary?.least)}${cell(summary?.mean)}${cell(summary?.most)}
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}
