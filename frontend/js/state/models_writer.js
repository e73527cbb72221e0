/** @import { MessageModel } from "./message.js" */

/**
 * The model that wrote an answer, where the answer before it is another model's.
 *
 * @param {readonly MessageModel[]} path  the branch that the answer is on
 * @param {readonly MessageModel[]} steps  of the answer
 * @returns {string} its name; "" where the same model wrote both, or one of them is not known
 */
export function otherWriter(path, steps) {
  const writer = steps.findLast(written)?.receipt.value?.model ?? "";
  const at = path.findIndex((message) => message === steps[0]);
  if (!writer || at < 0) return "";
  const before = path.slice(0, at).findLast(written)?.receipt.value?.model ?? "";
  return before && before !== writer ? writer : "";
}

/** @param {MessageModel} message */
const written = (message) => message.role === "assistant" && Boolean(message.receipt.value?.model);
