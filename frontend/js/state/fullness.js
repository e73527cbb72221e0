/** @import { Session } from "./session.js" */

/**
 * How full the context window is; null tokens right after older messages were summarized.
 *
 * @typedef {object} Fullness
 * @property {number | null} tokens
 * @property {number | null} window
 * @property {number | null} percent
 */

/**
 * @param {Session} session
 * @returns {Fullness | null} null where nothing is known
 */
export function contextOf(session) {
  const window = session.window.value;
  const told = session.context.value;
  if (told) return { tokens: told.tokens, window: told.context_window ?? window, percent: told.percent };
  const path = session.tree.path.value;
  const answer = path.findLast((message) => message.receipt.value?.prompt_tokens);
  const receipt = answer?.receipt.value;
  if (!answer || !receipt) return null;
  const summarized = session.summaries.value.some(
    ({ created_at, upto_id }) => created_at > answer.created_at && path.some((message) => message.id === upto_id),
  );
  if (summarized) return { tokens: null, window, percent: null };
  const tokens = (receipt.prompt_tokens ?? 0) + (receipt.completion_tokens ?? 0);
  return { tokens, window, percent: window && Math.round((1000 * tokens) / window) / 10 };
}
