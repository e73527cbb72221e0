/** @import { ToolCall } from "../protocol.d.ts" */

import { argumentsOf, laidOut } from "./tool_words.js";

/**
 * How a person may edit what a call would do.
 *
 * @typedef {object} Editable
 * @property {string} label
 * @property {string} text  to begin with
 * @property {(text: string) => {json: string, error: string}} encode
 */

/**
 * @param {Pick<ToolCall, "name" | "arguments">} call
 * @returns {Editable}
 */
export function editable({ name, arguments: written }) {
  const given = argumentsOf(written);
  if (name === "bash" && typeof given.command === "string") return command(given, given.command);
  return { label: "Arguments as JSON", text: laidOut(written), encode: asJson };
}

/**
 * @param {Record<string, unknown>} given
 * @param {string} text
 * @returns {Editable}
 */
function command(given, text) {
  return {
    label: "Command",
    text,
    encode: (edited) => ({
      json: JSON.stringify({ ...given, command: edited }),
      error: edited.trim() ? "" : "The command is empty.",
    }),
  };
}

/** @param {string} text */
function asJson(text) {
  try {
    const value = JSON.parse(text);
    const fits = typeof value === "object" && value !== null && !Array.isArray(value);
    return { json: text, error: fits ? "" : "The arguments have to be a JSON object: {…}." };
  } catch (error) {
    if (error instanceof SyntaxError) return { json: text, error: `This is not JSON yet: ${error.message}.` };
    throw error;
  }
}
