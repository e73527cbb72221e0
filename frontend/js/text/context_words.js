/** @import { Fullness } from "../state/fullness.js" */

import { count } from "./format.js";

/**
 * @param {Fullness} fullness
 * @returns {{brief: string, detail: string}}
 */
export function contextWords({ tokens, window, percent }) {
  if (tokens === null) {
    const detail = "Older messages were summarized just now. The next answer shows how much room that made.";
    return { brief: "summarized", detail };
  }
  const brief = percent === null ? `${count(tokens)} tokens` : `${count(percent)} %`;
  const of = window === null ? "" : ` of ${count(window)}`;
  return { brief, detail: `The last answer used ${count(tokens)}${of} tokens of what the model can see at once.` };
}
