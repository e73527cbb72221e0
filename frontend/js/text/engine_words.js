/** @import { Engine, EnginePhase, Status } from "../net/status_source.js" */

import { isHere } from "../net/here.js";
import { bytesOf, seconds } from "./format.js";

/**
 * What the page says about the engine.
 *
 * @typedef {object} EngineWords
 * @property {string} label  a few words, always shown
 * @property {string} [short]  fewer, where there is no room for them
 * @property {string} detail  said where there is room
 * @property {"good" | "busy" | "bad" | "idle"} tone
 * @property {{done: number, total: number} | null} bytes  how much of the model is loaded
 */

/** @type {Record<Exclude<EnginePhase, "ready" | "idle">, [label: string, tone: EngineWords["tone"]]>} */
const PHASES = {
  starting: ["Starting", "busy"],
  importing: ["Starting", "busy"],
  preparing: ["Preparing the model", "busy"],
  loading: ["Loading", "busy"],
  warming: ["Warming up", "busy"],
  restarting: ["Engine restarting", "busy"],
  switching: ["Changing the model", "busy"],
  failed: ["Engine failed", "bad"],
  stopping: ["Stopping", "idle"],
};

/**
 * @param {Pick<Status, "engine"> | null} status
 * @param {boolean | null} reachable
 * @returns {EngineWords}
 */
export function engineWords(status, reachable) {
  if (reachable === false) return plain(isHere ? "Fireside is not running" : "Fireside does not answer", "bad");
  if (!status) return plain("Connecting", "idle");
  const { phase, bytes_done, bytes_total } = status.engine;
  if (phase === "ready") return plain(status.engine.model?.name ?? "Ready", "good");
  if (phase === "idle") return { ...plain(status.engine.model?.name ?? "Ready", "idle"), detail: "not in memory" };
  const [known, tone] = PHASES[phase] ?? [phase, "busy"];
  const words = phase === "switching" ? switching(status.engine) : { label: known };
  const bytes = bytes_total > 0 ? { done: bytes_done, total: bytes_total } : null;
  return { ...words, tone, detail: tone === "busy" ? howFar(status, bytes) : "", bytes: tone === "busy" ? bytes : null };
}

/** @param {Engine} engine */
function switching({ model, switch: change }) {
  if (!change) return { label: "Changing the model", short: "Changing" };
  if (change.state === "returning") return { label: `Back to ${model?.name ?? "the last model"}`, short: "Going back" };
  return { label: `Switching to ${change.name}`, short: "Switching" };
}

/**
 * @param {string} label
 * @param {EngineWords["tone"]} tone
 * @returns {EngineWords}
 */
function plain(label, tone) {
  return { label, tone, detail: "", bytes: null };
}

/**
 * @param {Pick<Status, "engine">} status
 * @param {EngineWords["bytes"]} bytes
 */
function howFar(status, bytes) {
  const parts = [];
  if (bytes) parts.push(bytesOf(bytes.done, bytes.total));
  if (status.engine.seconds >= 1) parts.push(seconds(status.engine.seconds));
  return parts.join(" · ");
}
