/** @import { Ready, Receipt, SamplingChoice, SessionSettings } from "../protocol.d.ts" */

import { count, milliseconds, speed } from "./format.js";

/** What is missing in the defaults of a model where it is off. */
const MAY_BE_OFF = new Set(["top_p", "top_k", "min_p", "repetition_penalty"]);

/** @type {Record<keyof SamplingChoice, string>} what a number does, in a line */
export const SAMPLING_HINTS = {
  temperature: "Higher is more varied, 0 always takes the likeliest word.",
  top_p: "Only the likeliest words that together have this share.",
  top_k: "Only this many of the likeliest words.",
  min_p: "Only words at least this likely, next to the likeliest.",
  repetition_penalty: "Over 1 it repeats itself less.",
  max_tokens: "The longest that an answer gets.",
  seed: "The same seed and the same question: the same answer.",
};

/**
 * What stands in an empty field: the model's own value as far as it is known.
 *
 * @param {Ready | null} model
 * @param {keyof SamplingChoice} name
 */
export function autoWords(model, name) {
  if (name === "seed") return "auto (random)";
  if (name === "max_tokens") return "auto (no limit)";
  const value = model?.gen_defaults?.[name];
  if (value != null) return `auto (${Number(value.toPrecision(4))})`;
  return model?.gen_defaults && MAY_BE_OFF.has(name) ? "auto (off)" : "auto";
}

/**
 * @param {Ready | null} model
 * @param {boolean | null | undefined} chosen
 * @returns {string} "" for a model that cannot think
 */
export function thinkingWords(model, chosen) {
  if (!model?.thinking) return "";
  return (chosen ?? model.thinks) ? "thinking on" : "thinking off";
}

/** What is set in a chat, in a few words. @param {SessionSettings} settings */
export function settingsWords({ instructions, tools, read_only, thinking, sampling = {}, preset }) {
  const drawn = Object.values(sampling).filter((value) => value != null).length;
  return [
    preset && `preset ${preset}`,
    instructions && "instructions",
    tools && (tools.length ? `${count(tools.length)} ${tools.length === 1 ? "tool" : "tools"}` : "no tools"),
    read_only && "nothing that asks",
    thinking != null && (thinking ? "thinking on" : "thinking off"),
    drawn > 0 && "sampling",
  ]
    .filter(Boolean)
    .join(", ");
}

/** How the last answer was made, in a line. @param {Receipt | null | undefined} receipt */
export function lastAnswerWords(receipt) {
  if (!receipt) return "";
  return [
    receipt.lane && `${receipt.lane} lane`,
    receipt.decode_tps && speed(receipt.decode_tps),
    receipt.ttft_ms != null && `first token after ${milliseconds(receipt.ttft_ms)}`,
    receipt.cached_tokens && `${count(receipt.cached_tokens)} tokens from cache`,
  ]
    .filter(Boolean)
    .join(" · ");
}
