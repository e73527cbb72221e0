/** @import { Receipt } from "../protocol.d.ts" */
/** @import { MessageModel } from "./message.js" */

/**
 * What a whole turn cost. Tokens, times and restarts in `receipt` are sums over its steps; its speed is over all of
 * them, its first token that of the first step, and the rest is the last step's.
 *
 * @typedef {object} TurnReceipt
 * @property {Receipt} receipt
 * @property {number} steps
 * @property {number} calls
 * @property {number} calls_ms  how long the calls ran, one after another
 * @property {number | null} model_ms  how long the model was waited for; null where not every step tells
 */

/** @param {readonly MessageModel[]} steps @returns {TurnReceipt | null} null until a step has a receipt */
export function turnReceipt(steps) {
  const receipts = steps.flatMap((step) => step.receipt.value ?? []);
  const last = receipts.at(-1);
  if (!last) return null;
  const calls = steps.flatMap((step) => step.tools.value.map((tool) => tool.call.value));
  const times = receipts.map(timeOf);
  const known = times.length === steps.length && !times.includes(null);
  return {
    receipt: {
      ...last,
      prompt_tokens: sum(receipts, "prompt_tokens"),
      completion_tokens: sum(receipts, "completion_tokens"),
      cached_tokens: sum(receipts, "cached_tokens"),
      from_ssd: sum(receipts, "from_ssd"),
      queue_ms: sum(receipts, "queue_ms"),
      resumed: sum(receipts, "resumed"),
      ttft_ms: receipts[0]?.ttft_ms ?? null,
      decode_tps: speedOf(receipts),
    },
    steps: steps.length,
    calls: calls.length,
    calls_ms: calls.reduce((all, call) => all + (call.ms ?? 0), 0),
    model_ms: known ? times.reduce((/** @type {number} */ all, ms) => all + (ms ?? 0), 0) : null,
  };
}

/**
 * @param {readonly Receipt[]} receipts
 * @param {"prompt_tokens" | "completion_tokens" | "cached_tokens" | "from_ssd" | "queue_ms" | "resumed"} name
 */
function sum(receipts, name) {
  return receipts.reduce((all, receipt) => all + (receipt[name] ?? 0), 0);
}

/** How long a step's tokens took after the first. @param {Receipt} receipt */
function decodeTime({ completion_tokens = 0, decode_tps }) {
  return decode_tps ? (Math.max(completion_tokens - 1, 0) / decode_tps) * 1000 : null;
}

/** @param {Receipt} receipt */
function timeOf(receipt) {
  const decoding = decodeTime(receipt) ?? ((receipt.completion_tokens ?? 0) <= 1 ? 0 : null);
  return receipt.ttft_ms == null || decoding === null ? null : receipt.ttft_ms + decoding;
}

/** @param {readonly Receipt[]} receipts */
function speedOf(receipts) {
  const told = receipts.filter((receipt) => decodeTime(receipt));
  const ms = told.reduce((all, receipt) => all + (decodeTime(receipt) ?? 0), 0);
  const tokens = told.reduce((all, receipt) => all + (receipt.completion_tokens ?? 0) - 1, 0);
  return ms ? (tokens / ms) * 1000 : null;
}
