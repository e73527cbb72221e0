/** What the engine does and did: `/stats`, `/metrics`, `/api/requests`, `/api/logs`. */

import { askRoute } from "./answers.js";

/**
 * `/stats`; null is what is not known or not limited.
 *
 * @typedef {object} Stats
 * @property {{version: string, model: string | null, started_at: number}} server
 * @property {EngineFacts} engine
 * @property {{max_safe_context: number | null, memory_budget_bytes: number | null, usable_bytes: number | null, weights_bytes: number | null} | null} admission
 * @property {{configured: number, batched: boolean, active_rows: number, pending_rows: number, submitted_rows: number, kv_bytes: number, kv_budget_bytes: number | null} | null} batch
 * @property {{entries: number, bytes: number, max_bytes: number, hits: number, misses: number} | null} prompt_cache
 * @property {{mode: string | null}} kv_quant
 *
 * @typedef {object} EngineFacts
 * @property {"core" | "upstream"} mode
 * @property {string} phase
 * @property {number} restarts
 * @property {number | null} pid
 * @property {string | null} device
 * @property {string | null} weights
 * @property {number | null} weights_bytes
 * @property {Record<string, string | number> | null} blas
 * @property {Record<string, string> | null} versions
 * @property {string[]} warnings
 * @property {{done: number, total: number} | null} warm_up
 *
 * @typedef {object} InFlight
 * @property {string} id
 * @property {string} route
 * @property {string | null} model
 * @property {string} lane
 * @property {"queued" | "prefill" | "decoding"} state
 * @property {string} priority
 * @property {number | null} position
 * @property {number | null} eta_s
 * @property {number} prompt_tokens
 * @property {number} prefill_done
 * @property {number} cached_tokens
 * @property {number} generated_tokens
 * @property {number} max_tokens
 * @property {number} age_s
 * @property {number | null} decode_tps
 * @property {number} resumed
 *
 * @typedef {object} LogLine
 * @property {string} id
 * @property {string} route
 * @property {string} lane
 * @property {number} queue_ms
 * @property {number | null} ttft_ms
 * @property {number | null} decode_tps
 * @property {number} total_ms
 * @property {number} prompt_tokens
 * @property {number} cached_tokens
 * @property {number} completion_tokens
 * @property {string} finish
 * @property {number} resumed
 * @property {boolean} client_gone
 * @property {number} time
 *
 * @typedef {{lines: LogLine[], next: string, more: boolean, gone: boolean}} LogPage  the newest line is the last
 */

const LIMIT_MS = 4_000;

const soon = () => ({ signal: AbortSignal.timeout(LIMIT_MS) });

/** @returns {Promise<Stats>} */
export const readStats = () => askRoute("/stats", soon());

/** @returns {Promise<InFlight[]>} */
export const readRequests = async () => (await askRoute("/api/requests", soon())).requests;

/** @param {string} id */
export const cancelRequest = (id) => askRoute(`/api/requests/${encodeURIComponent(id)}`, { method: "DELETE" });

/** @param {{limit: number, after?: string}} page @returns {Promise<LogPage>} */
export function readLogs({ limit, after }) {
  const parameters = new URLSearchParams({ limit: String(limit), ...(after !== undefined && { after }) });
  return askRoute(`/api/logs?${parameters}`, soon());
}

/**
 * The counters that `/stats` has not, from `/metrics`.
 *
 * @returns {Promise<Map<string, number>>} by name, with the labels where there are some
 */
export async function readCounters() {
  const response = await fetch("/metrics", { cache: "no-store", ...soon() });
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  return countersIn(await response.text());
}

/** Prometheus's text: a comment, or a name, perhaps labels in braces, and a number. @param {string} text */
function countersIn(text) {
  /** @type {Map<string, number>} */
  const counters = new Map();
  for (const [, name, value] of text.matchAll(/^(fireside_[^\s{]+(?:\{[^}]*\})?) (\S+)/gm)) {
    counters.set(String(name), Number(value));
  }
  return counters;
}
