/** @import { DeletedChat } from "../net/deleted_api.js" */

import { count } from "./format.js";

const DAY_SECONDS = 86_400;

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "long" });

/** What is to be known of a deleted chat, in a line. @param {DeletedChat} chat @param {Date} now */
export function deletedWords({ deleted_at, purged_at, message_count }, now) {
  const then = new Date(deleted_at * 1000);
  const left = Math.ceil((purged_at - now.getTime() / 1000) / DAY_SECONDS);
  return [`Deleted ${whenWords(then, now)}`, leftWords(left), `${count(message_count)} ${message_count === 1 ? "message" : "messages"}`].join(" · ");
}

/** @param {Date} then @param {Date} now */
function whenWords(then, now) {
  /** @param {number} days */
  const midnight = (days) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
  if (then >= midnight(0)) return "today";
  return then >= midnight(1) ? "yesterday" : `on ${day.format(then)}`;
}

/** @param {number} days */
function leftWords(days) {
  if (days <= 0) return "goes within the hour";
  return days === 1 ? "1 day left" : `${count(days)} days left`;
}

/** @param {number} number */
export const chatsWords = (number) => (number === 1 ? "1 chat" : `${count(number)} chats`);
