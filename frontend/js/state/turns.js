/** @import { Summary } from "../protocol.d.ts" */
/** @import { MessageModel } from "./message.js" */

/**
 * What the thread shows, one below the other. A turn's answers, one after another, are shown as one.
 *
 * @typedef {{kind: "prompt", key: string, message: MessageModel}} PromptPart
 * @typedef {{kind: "answer", key: string, steps: MessageModel[]}} AnswerPart
 * @typedef {{kind: "summary", key: string, summary: Summary}} SummaryPart
 * @typedef {PromptPart | AnswerPart | SummaryPart} Part
 */

/**
 * @param {readonly MessageModel[]} messages  of one branch
 * @param {readonly Summary[]} summaries
 * @returns {Part[]}
 */
export function partsOf(messages, summaries) {
  /** @type {Part[]} */
  const parts = [];
  for (const message of messages) {
    const last = parts.at(-1);
    if (message.role === "user") parts.push({ kind: "prompt", key: message.key, message });
    else if (last?.kind === "answer") last.steps.push(message);
    else parts.push({ kind: "answer", key: message.key, steps: [message] });
    for (const summary of summaries) {
      if (summary.upto_id === message.id) parts.push({ kind: "summary", key: summary.id, summary });
    }
  }
  return parts;
}
