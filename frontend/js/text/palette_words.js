/** @import { Hit } from "../state/search.js" */

/** @type {Record<Hit["kind"], string>} what a place that was found is */
export const KINDS = {
  title: "Chat",
  message: "Message",
  reasoning: "Thinking",
  tool: "Tool output",
  attachment: "Attachment",
  memory: "Memory",
};

/** Whether each word occurs. @param {string} text @param {string} query */
export function matches(text, query) {
  const where = text.toLocaleLowerCase();
  return query.toLocaleLowerCase().split(/\s+/).every((word) => where.includes(word));
}

/**
 * For screen readers.
 *
 * @param {number} rows
 * @param {{busy: boolean, failed: boolean, note: string}} search
 */
export function statusWords(rows, { busy, failed, note }) {
  if (failed) return `Only titles and actions were searched. ${note}`;
  if (busy) return "";
  return `${rows === 0 ? "Nothing" : rows === 1 ? "One entry" : `${rows} entries`} found. ${note}`.trim();
}
