/** @import { Sample } from "../../state/status_series.js" */
/** @import { Series } from "../../text/status_words.js" */

import { html } from "../../lib.js";
import { EVERY_MS, KEPT_MS } from "../../state/status_sampler.js";
import { summaryOf } from "../../state/status_series.js";

const WIDTH = 300;
const HEIGHT = 64;
/** Room for half the line's width at the top and the bottom. */
const EDGE = 2;
/** A longer time than this between two points was not looked at. */
const GAP_MS = 2.5 * EVERY_MS;

/** @typedef {{x: number, y: number, time: number, value: number}} Point */

/** One figure over the time, drawn without a library. @param {{series: Series, samples: readonly Sample[]}} props */
export function Chart({ series, samples }) {
  const summary = summaryOf(samples, series.name);
  const top = roundTop(Math.max(summary?.most ?? 0, series.least));
  const points = pointsOf(samples, series, top);
  return html`<div class="chart">
    <svg
      class="chart__svg"
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label=${wordsOf(series, summary)}
      data-points=${points.length}
    >
      <path class="chart__grid" d=${`M0 ${HEIGHT / 2}H${WIDTH}`} />
      <path class="chart__base" d=${`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      ${series.shape === "bars" ? html`<${Bars} points=${points} />` : html`<${Line} points=${points} />`}
    </svg>
    <span class="chart__top" aria-hidden="true">${series.words(top)}</span>
  </div>`;
}

/** @param {{points: readonly Point[]}} props */
function Line({ points }) {
  const runs = runsOf(points);
  const path = (/** @type {readonly Point[]} */ run) => run.map(({ x, y }, index) => `${index ? "L" : "M"}${x} ${y}`).join("");
  const areas = runs.map((run) => `${path(run)}L${run.at(-1)?.x} ${HEIGHT}L${run[0]?.x} ${HEIGHT}Z`).join("");
  // A point that stands alone gets a length, or it would not be seen.
  const lines = runs.map((run) => (run.length > 1 ? path(run) : `${path(run)}h0.01`)).join("");
  return html`<path class="chart__area" d=${areas} /><path class="chart__line" d=${lines} />`;
}

/** @param {{points: readonly Point[]}} props */
function Bars({ points }) {
  const bars = points.filter(({ value }) => value > 0).map(({ x, y }) => `M${x} ${HEIGHT}V${y}`);
  return html`<path class="chart__bars" d=${bars.join("")} />`;
}

/** @param {readonly Sample[]} samples @param {Series} series @param {number} top @returns {Point[]} */
function pointsOf(samples, { name }, top) {
  const end = samples.at(-1)?.time ?? 0;
  return samples.flatMap(({ time, figures }) => {
    const value = figures[name];
    if (value === null) return [];
    const x = round(WIDTH - EDGE - ((end - time) / KEPT_MS) * (WIDTH - EDGE));
    const y = round(HEIGHT - EDGE - (value / top) * (HEIGHT - 2 * EDGE));
    return [{ x, y, time, value }];
  });
}

/** Pieces without a gap. @param {readonly Point[]} points @returns {Point[][]} */
function runsOf(points) {
  /** @type {Point[][]} */
  const runs = [];
  for (const point of points) {
    const run = runs.at(-1);
    if (run && point.time - /** @type {Point} */ (run.at(-1)).time <= GAP_MS) run.push(point);
    else runs.push([point]);
  }
  return runs;
}

/** The next of 1, 2, 5, 10, 20, … @param {number} value */
function roundTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((each) => each * power >= value * 0.999) ?? 10;
  return step * power;
}

const round = (/** @type {number} */ value) => Math.round(value * 10) / 10;

/** @param {Series} series @param {ReturnType<typeof summaryOf>} summary */
function wordsOf({ label, words }, summary) {
  if (!summary) return `${label}: nothing yet`;
  return `${label}: last ${words(summary.last)}, between ${words(summary.least)} and ${words(summary.most)}`;
}
