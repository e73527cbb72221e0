/** @import { InFlight, Stats } from "../net/status_api.js" */

/**
 * The figures of one moment; null is what is not known then.
 *
 * @typedef {"rows" | "queue" | "speed" | "first" | "reading" | "hits" | "cache" | "memory"} SeriesName
 * @typedef {Record<SeriesName, number | null>} Figures
 * @typedef {{time: number, figures: Figures}} Sample  time in milliseconds
 *
 * @typedef {object} Reading  what was read at one moment
 * @property {number} time
 * @property {Stats} stats
 * @property {ReadonlyMap<string, number> | null} counters
 * @property {readonly InFlight[]} requests
 */

/** @type {Figures} */
export const NOTHING = { rows: null, queue: null, speed: null, first: null, reading: null, hits: null, cache: null, memory: null };

const FIRST = "fireside_time_to_first_token_seconds";

/**
 * What one moment tells, by what was counted since the one before.
 *
 * @param {Reading} now
 * @param {Reading | null} before
 * @returns {Figures}
 */
export function figuresOf(now, before) {
  const { batch, engine, prompt_cache } = now.stats;
  const since = (/** @type {string} */ name) => grown(name, now, before);
  const seconds = before ? (now.time - before.time) / 1000 : 0;
  const rate = (/** @type {number | null} */ number) => (number === null || seconds <= 0 ? null : number / seconds);
  const firsts = since(`${FIRST}_count`);
  return {
    rows: batch && batch.active_rows,
    queue: batch && batch.pending_rows,
    speed: rate(since("fireside_generated_tokens_total")),
    first: firsts ? ((since(`${FIRST}_sum`) ?? 0) / firsts) * 1000 : null,
    reading: rate(since('fireside_prompt_tokens_total{source="computed"}')),
    hits: since("fireside_prompt_cache_hits_total"),
    cache: prompt_cache && prompt_cache.bytes,
    memory: batch && (engine.weights_bytes ?? 0) + batch.kv_bytes + (prompt_cache?.bytes ?? 0),
  };
}

/** How much a counter has grown; null where that is not known, as after a restart. @param {string} name @param {Reading} now @param {Reading | null} before */
function grown(name, now, before) {
  const [after, earlier] = [now.counters?.get(name), before?.counters?.get(name)];
  return after === undefined || earlier === undefined || after < earlier ? null : after - earlier;
}

/** Least, most and mean of a figure. @param {readonly Sample[]} samples @param {SeriesName} name */
export function summaryOf(samples, name) {
  const known = samples.map(({ figures }) => figures[name]).filter((value) => value !== null);
  if (known.length === 0) return null;
  return {
    least: Math.min(...known),
    most: Math.max(...known),
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    last: /** @type {number} */ (known.at(-1)),
  };
}
