/** The routes of models here and on the hub; see docs/api.md. Each is rejected as `askRoute` is. */

import { askRoute, postJson } from "./answers.js";

/**
 * How a model fits on this machine. Sizes are bytes, lengths tokens, rates tokens a second; null is not known.
 *
 * @typedef {object} Assessment
 * @property {boolean} fits
 * @property {string} reason  why, or why not
 * @property {number} context_tokens  of the conversation that is counted
 * @property {number | null} max_safe_context
 * @property {number | null} weights_bytes
 * @property {number | null} kv_bytes
 * @property {number | null} prefill_bytes
 * @property {number | null} needed_bytes
 * @property {number} usable_bytes
 * @property {number | null} measured_decode_tps
 * @property {number | null} decode_tps  the measured rate, else the predicted one
 *
 * @typedef {object} LocalModel
 * @property {string} repo_id
 * @property {string | null} revision
 * @property {string} path
 * @property {"embedded" | "folder" | "hub"} origin
 * @property {"chat" | "embedding" | "speech" | "other"} kind
 * @property {string} architecture
 * @property {number | null} parameters
 * @property {number} size_bytes
 * @property {number | null} quant_bits
 * @property {string | null} dtype
 * @property {number | null} context_window
 * @property {boolean} vision
 * @property {boolean} audio
 * @property {boolean} template
 * @property {boolean} tools
 * @property {boolean} thinking
 * @property {string | null} licence
 * @property {boolean} complete
 * @property {string[]} missing
 * @property {string | null} unsupported  why the engine cannot run it
 * @property {boolean} usable
 * @property {boolean} serving
 * @property {Assessment} assessment
 *
 * @typedef {object} Machine
 * @property {string} chip
 * @property {"apple" | "nvidia" | "cpu"} device
 * @property {number} memory_bytes
 * @property {number} available_bytes
 * @property {number | null} bandwidth
 *
 * @typedef {object} OtherMachine
 * @property {string} chip
 * @property {boolean} fits
 * @property {number | null} max_safe_context
 * @property {number | null} predicted_decode_tps
 *
 * @typedef {{report: string[], matrix: OtherMachine[]}} FitReport
 *
 * @typedef {object} Recommendation
 * @property {string} repo_id
 * @property {string} name
 * @property {string} purpose
 * @property {number} parameters
 * @property {number} size_bytes
 * @property {number} needed_bytes
 * @property {number | null} predicted_decode_tps
 * @property {boolean} here
 *
 * @typedef {{machine: Machine, models: Recommendation[]}} Recommended
 *
 * @typedef {"downloads" | "likes" | "updated" | "trending" | "size"} Sort
 * @typedef {{text: string, mlx: boolean, sort: Sort, most: number | null}} Wanted  most: bytes
 *
 * @typedef {object} Found
 * @property {string} repo_id
 * @property {boolean} mlx
 * @property {"no" | "auto" | "manual"} gated
 * @property {number} downloads
 * @property {number} likes
 * @property {number | null} size
 * @property {number | null} parameters
 * @property {string | null} task
 * @property {string | null} license
 * @property {string | null} updated_at
 *
 * @typedef {object} HubModel
 * @property {Found} model
 * @property {string} commit
 * @property {{name: string, size: number | null}[]} files
 * @property {number} size
 * @property {string | null} card_html  safe to insert; null where there is none, or it may not be read
 * @property {string} endpoint  the hub's address
 *
 * @typedef {4 | 6 | 8 | 16} Bits
 * @typedef {"queued" | "running" | "paused" | "done" | "failed" | "cancelled"} DownloadState
 *
 * @typedef {object} Download
 * @property {string} id
 * @property {string} repo_id
 * @property {string} revision
 * @property {Bits | null} bits  of the conversion that follows
 * @property {DownloadState} state
 * @property {"asking" | "downloading" | "verifying" | "converting"} phase
 * @property {string | null} file
 * @property {number} files_done
 * @property {number} files
 * @property {number} bytes
 * @property {number} total
 * @property {number} rate  bytes a second
 * @property {string | null} path
 * @property {{code: string, message: string} | null} error
 *
 * @typedef {{path: string, bytes: number}} Leftover
 *
 * @typedef {object} Superseded
 * @property {string} repo_id
 * @property {string[]} prune_snapshots
 * @property {string[]} skipped_snapshots
 * @property {string[]} dead_blobs
 * @property {number} reclaim_bytes
 *
 * @typedef {object} CleanUpPlan
 * @property {Superseded[]} superseded
 * @property {Leftover[]} partials
 * @property {Leftover[]} converted
 * @property {Leftover[]} ssd_cache
 * @property {number} reclaim_bytes
 * @property {string} token
 *
 * @typedef {{reclaimed_bytes: number, failed: string[]}} Removed
 */

/** @returns {Promise<LocalModel[]>} */
export const readLibrary = async () => (await askRoute("/api/library")).models;

/** @returns {Promise<Recommended>} */
export const readRecommended = () => askRoute("/api/models/recommended");

/** @param {string} model @returns {Promise<FitReport>} */
export const readFit = (model) => askRoute(`/api/fit?${new URLSearchParams({ model })}`);

/** @param {string} model @returns {Promise<{id: string, name: string}>} */
export const serveModel = (model) => postJson("/api/hub/serve", { model });

/** @param {Wanted} wanted @param {AbortSignal} signal @returns {Promise<Found[]>} */
export async function searchHub({ text, mlx, sort, most }, signal) {
  const query = new URLSearchParams({ q: text, mlx: String(mlx), sort, limit: "40" });
  if (most !== null) query.set("max_bytes", String(most));
  return (await askRoute(`/api/hub/search?${query}`, { signal })).models;
}

/** @param {string} repo @returns {Promise<HubModel>} */
export const readHubModel = (repo) => askRoute(`/api/hub/model?${new URLSearchParams({ repo })}`);

/** @param {string} repo_id @param {Bits | null} bits  of the conversion; null for none @returns {Promise<Download>} */
export const startDownload = (repo_id, bits) => postJson("/api/hub/download", { repo_id, convert: bits && { bits } });

/** @returns {Promise<Download[]>} */
export const readDownloads = async () => (await askRoute("/api/downloads")).downloads;

/** @param {string} id @param {"pause" | "resume" | "cancel"} verb @returns {Promise<Download>} */
export const tellDownload = (id, verb) => postJson(`/api/downloads/${encodeURIComponent(id)}/${verb}`, {});

/** @param {boolean} force @returns {Promise<CleanUpPlan>} */
export const readPlan = (force) => askRoute(`/api/gc/plan${force ? "?force=true" : ""}`);

/** @param {string} token @param {boolean} force @returns {Promise<Removed>} */
export const cleanUp = (token, force) => postJson("/api/gc/execute", { token, force, yes: true });
