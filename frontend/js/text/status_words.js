/** @import { EngineFacts, InFlight, LogLine, Stats } from "../net/status_api.js" */
/** @import { SeriesName } from "../state/status_series.js" */

import { bytes, count, milliseconds, seconds, speed } from "./format.js";
import { atMinute } from "./settings_words.js";

const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** @param {number} time  in milliseconds */
export const atSecond = (time) => clock.format(time);

/**
 * A chart.
 *
 * @typedef {object} Series
 * @property {SeriesName} name
 * @property {string} label
 * @property {"line" | "bars"} shape  bars: what happened in moments
 * @property {(value: number) => string} words
 * @property {number} least  the scale reaches at least to here
 * @property {(stats: Stats) => string} note  what the figure is to be seen against
 */

const few = (/** @type {number} */ value) => (Number.isInteger(value) ? count(value) : value.toFixed(1));

/** @type {readonly Series[]} */
export const SERIES = [
  { name: "rows", label: "Answers at once", shape: "line", words: few, least: 2, note: ({ batch }) => (batch ? `of ${batch.batched ? batch.configured : 1} rows` : "") },
  { name: "queue", label: "Waiting", shape: "line", words: few, least: 2, note: () => "in the queue" },
  { name: "speed", label: "Writing", shape: "line", words: speed, least: 10, note: () => "all answers together" },
  { name: "reading", label: "Reading prompts", shape: "line", words: speed, least: 10, note: () => "without what was cached" },
  { name: "first", label: "First token", shape: "bars", words: milliseconds, least: 50, note: () => "after it was asked (TTFT)" },
  { name: "hits", label: "Prompt cache hits", shape: "bars", words: few, least: 2, note: hitsNote },
  { name: "cache", label: "Prompt cache", shape: "line", words: bytes, least: 1e6, note: ({ prompt_cache }) => (prompt_cache ? `of ${bytes(prompt_cache.max_bytes)}` : "") },
  { name: "memory", label: "Memory", shape: "line", words: bytes, least: 1e6, note: memoryNote },
];

/** @param {Stats} stats */
function hitsNote({ prompt_cache }) {
  if (!prompt_cache) return "";
  const { hits, misses } = prompt_cache;
  return `${count(hits)} of ${count(hits + misses)} so far`;
}

/** @param {Stats} stats */
function memoryNote({ admission }) {
  return admission?.usable_bytes ? `of ${bytes(admission.usable_bytes)}` : "weights, cache and answers";
}

/** @param {Stats} stats @returns {[term: string, value: string][]} */
export function factsOf({ admission, batch, engine, kv_quant, prompt_cache, server }) {
  /** @type {[string, string | false | 0 | null | undefined][]} */
  const facts = [
    ["Model", server.model],
    ["Runs on", engine.mode === "upstream" ? "another server" : deviceOf(engine)],
    ["Weights", engine.weights && `${engine.weights}, ${bytes(engine.weights_bytes ?? 0)}`],
    ["Keys and values", kv_quant.mode],
    ["Safe context", admission?.max_safe_context && `${count(admission.max_safe_context)} tokens`],
    ["Answers at once", batch && (batch.batched ? `up to ${count(batch.configured)}` : "one after the other")],
    ["Prompt cache", prompt_cache && (prompt_cache.max_bytes ? `up to ${bytes(prompt_cache.max_bytes)}` : "switched off")],
    ["BLAS", blasOf(engine)],
    ["Versions", engine.versions && Object.entries(engine.versions).map(([name, version]) => `${name} ${version}`).join(", ")],
    ["Warm-up", engine.warm_up && engine.warm_up.done < engine.warm_up.total && `${count(engine.warm_up.done)} of ${count(engine.warm_up.total)} shapes`],
    ["Restarts", engine.restarts > 0 && count(engine.restarts)],
    ["Core process", engine.pid !== null && String(engine.pid)],
    ["Fireside", `${server.version}, since ${atMinute(server.started_at)}`],
  ];
  return facts.flatMap(([term, value]) => (value ? [[term, value]] : []));
}

/** @param {EngineFacts} engine */
const deviceOf = ({ device }) => (device === "gpu" ? "this machine’s GPU" : device === "cpu" ? "this machine’s CPU" : null);

/** @param {EngineFacts} engine */
function blasOf({ blas }) {
  if (!blas) return null;
  const version = /\d+(?:\.\d+)+/.exec(String(blas.version ?? ""))?.[0];
  const parts = [
    [blas.name, version].filter(Boolean).join(" "),
    blas.core,
    blas.gflops && `${blas.gflops} GFLOP/s`,
    blas.threads && `${blas.threads} ${blas.threads === 1 ? "thread" : "threads"}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** @param {InFlight} request */
export function progressWords({ state, position, eta_s, prompt_tokens, prefill_done, generated_tokens, max_tokens }) {
  if (state === "decoding") return `Writing: ${count(generated_tokens)} of at most ${count(max_tokens)} tokens`;
  if (state === "prefill") return `Reading the prompt: ${count(prefill_done)} of ${count(prompt_tokens)} tokens`;
  const place = position ? `${count(position + 1)} in line` : "Next in line";
  return eta_s === null ? place : `${place}, starts in about ${seconds(Math.max(eta_s, 1))}`;
}

/** @param {InFlight} request */
export function requestFigures({ age_s, decode_tps, lane, priority, resumed }) {
  return [
    `for ${seconds(age_s)}`,
    decode_tps && speed(decode_tps),
    lane === "batched" ? "beside others" : "alone",
    priority !== "normal" && `priority ${priority}`,
    resumed > 0 && `taken up again ${count(resumed)} times`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @type {Record<string, string>} */
const ENDINGS = {
  stop: "Finished",
  length: "Cut at its limit",
  tool_calls: "Called a tool",
  end_turn: "Finished",
  max_tokens: "Cut at its limit",
  tool_use: "Called a tool",
  completed: "Finished",
  incomplete: "Cut at its limit",
  error: "Failed",
};

/** @param {LogLine} line */
export function endingOf({ finish, client_gone }) {
  if (finish === "cancelled") return client_gone ? "Its client left" : "Cancelled";
  return (Object.hasOwn(ENDINGS, finish) && ENDINGS[finish]) || finish;
}

/** Without what is the same in all. @param {string} route */
export const shortRoute = (route) => route.replace(/^\/v1\//, "");
