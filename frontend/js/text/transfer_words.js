/** @import { Outcome } from "../state/transfer.js" */

import { count } from "./format.js";

const NAMED = 3;

/**
 * @param {Outcome} outcome  of an import
 * @returns {{text: string, good: boolean}}
 */
export function importWords({ imported, skipped }) {
  const first = imported[0];
  const done =
    imported.length === 1 && first
      ? `“${first.title || "New chat"}” is imported.`
      : `${imported.length ? count(imported.length) : "No"} chats are imported.`;
  if (skipped.length === 0) return { text: done, good: imported.length > 0 };
  const whys = skipped.slice(0, NAMED).map(({ title, why }) => `“${title || "a chat without a title"}”: ${why.replace(/\.$/, "")}.`);
  const more = skipped.length > NAMED ? ` And ${count(skipped.length - NAMED)} more.` : "";
  return { text: `${done} ${count(skipped.length)} left out. ${whys.join(" ")}${more}`, good: false };
}
