/** @import { SamplingChoice } from "../protocol.d.ts" */

import { NUMBERS as WITH_NAMES } from "./settings_preset.js";

/**
 * A number that can be said about sampling, and what Fireside takes for it.
 *
 * @typedef {{name: keyof SamplingChoice, label: string, low: number, high: number, whole: boolean}} SamplingNumber
 */

/** @type {readonly SamplingNumber[]} */
export const NUMBERS = WITH_NAMES;

/**
 * @param {SamplingNumber} number
 * @param {string} typed
 * @returns {{value: number | null, error: string}} null where nothing is said
 */
export function numberIn({ label, low, high, whole }, typed) {
  const text = typed.trim().replace(",", ".");
  if (!text) return { value: null, error: "" };
  const value = Number(text);
  if (value >= low && value <= high && (!whole || Number.isInteger(value))) return { value, error: "" };
  const top = high >= 2 ** 31 ? `${low} up` : `${low} to ${high}`;
  return { value: null, error: `${label} is a ${whole ? "whole number" : "number"} from ${top}, or empty.` };
}
