/** @import { CutText, MessageStatus, Progress, Receipt, SamplingChoice } from "../protocol.d.ts" */
/** @import { TurnReceipt } from "../state/turn_receipt.js" */

import { count, milliseconds, seconds, speed } from "./format.js";

const SHORT_HASH = 12;

/**
 * @param {MessageStatus} status
 * @param {string | null} error
 * @returns {string} how an answer ended, where that needs saying
 */
export function answerEnd(status, error) {
  switch (status) {
    case "aborted":
      return "You stopped this answer.";
    case "interrupted":
      return "Fireside stopped while this answer was being written. What there was is kept.";
    case "error":
      return `This answer failed. ${error ?? ""}`.trim();
    default:
      return "";
  }
}

/**
 * @param {MessageStatus} status
 * @param {string | null} error
 * @returns {string} why a message of the reader got no answer
 */
export function promptEnd(status, error) {
  switch (status) {
    case "aborted":
      return "Taken back before it was asked.";
    case "interrupted":
      return "Fireside stopped before this was asked.";
    case "error":
      return `This could not be asked. ${error ?? ""}`.trim();
    default:
      return "";
  }
}

/**
 * @param {Progress | null} progress
 * @returns {string} what a running answer waits for
 */
export function waitingFor(progress) {
  switch (progress?.phase) {
    case "loading":
      return "The model is still loading. The answer starts as soon as it is ready.";
    case "queued":
      return queue(progress);
    case "prefill":
      return "Reading the conversation";
    case "restarting":
      return "The engine stopped and is taking up the answer again.";
    case "retrying":
      return "The engine did not answer. It is asked again.";
    case "waiting":
      return "Waiting for the engine";
    default:
      return "Thinking";
  }
}

/** @param {Progress} progress */
function queue({ queue_position, eta_s }) {
  const place = placeWords(queue_position ?? null);
  return eta_s ? `${place}, about ${seconds(eta_s)}` : place;
}

/** @param {number | null} position  of those that wait; 0 is next */
function placeWords(position) {
  if (position === null) return "In the queue";
  return position === 0 ? "Next in the queue" : `Number ${count(position + 1)} in the queue`;
}

/**
 * @param {TurnReceipt} turn
 * @returns {[term: string, value: string][]} the receipt's lines, without those that say nothing
 */
export function receiptLines({ receipt, steps, calls, calls_ms, model_ms }) {
  /** @type {[string, string | null | undefined | false][]} */
  const lines = [
    ["Model", receipt.model],
    ["Prompt", receipt.prompt_tokens && `${count(receipt.prompt_tokens)} tokens`],
    ["From cache", receipt.cached_tokens && cached(receipt)],
    ["Answer", `${count(receipt.completion_tokens ?? 0)} tokens`],
    ["Steps", steps > 1 && count(steps)],
    ["Calls", calls > 0 && `${count(calls)}, which took ${milliseconds(calls_ms)}`],
    ["Model’s time", model_ms && milliseconds(model_ms)],
    ["Speed", receipt.decode_tps ? speed(receipt.decode_tps) : null],
    ["First token", receipt.ttft_ms != null && milliseconds(receipt.ttft_ms)],
    ["Queued", receipt.queue_ms ? milliseconds(receipt.queue_ms) : null],
    ["Lane", receipt.lane],
    ["Seed", receipt.seed != null && String(receipt.seed)],
    ["Sampling", receipt.sampling && sampled(receipt.sampling)],
    ["Instructions", receipt.instructions && `${count(receipt.instructions.length)} characters`],
    ["Adapter", receipt.adapter_hash?.slice(0, SHORT_HASH)],
    ["Ended by", receipt.finish_reason && endedBy(receipt.finish_reason)],
    ["Taken up again", receipt.resumed ? times(receipt.resumed) : null],
  ].map(([term, value]) => [String(term), value ? String(value) : null]);
  return lines.filter(/** @returns {line is [string, string]} */ (line) => Boolean(line[1]));
}

/** @param {Receipt} receipt */
function cached({ cached_tokens, from_ssd }) {
  return `${count(cached_tokens ?? 0)} tokens${from_ssd ? `, ${count(from_ssd)} of them from disk` : ""}`;
}

/** What was asked for; the rest was the model's own. @param {SamplingChoice} sampling */
function sampled(sampling) {
  return Object.entries(sampling)
    .filter(([name, value]) => value != null && name !== "seed")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`)
    .join(", ");
}

/** @param {string} reason */
function endedBy(reason) {
  return new Map([["stop", "the model"], ["length", "the length limit"]]).get(reason) ?? reason;
}

/** @param {number} value */
function times(value) {
  return value === 1 ? "once" : `${count(value)} times`;
}

/**
 * @param {boolean} live
 * @param {number | null} ms
 */
export function reasoningWords(live, ms) {
  if (live) return "Thinking…";
  return ms === null ? "Thought" : `Thought for ${ms < 1000 ? "a moment" : seconds(ms / 1000)}`;
}

/** How much of a file the model got. @param {CutText} file */
export function partGiven({ name, given, characters }) {
  const percent = Math.max(1, Math.floor((100 * given) / characters));
  return `The model got the first ${percent} % of ${name}: more does not fit into its context.`;
}
