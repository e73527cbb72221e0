import { count } from "./format.js";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

const thisYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });

const DAY_S = 86_400;

/** @param {number} then  in seconds since the epoch @param {number} [now] */
export function ago(then, now = Date.now() / 1000) {
  const past = Math.max(now - then, 0);
  if (past < 60) return "just now";
  if (past < 3600) return relative.format(-Math.floor(past / 60), "minute");
  if (past < DAY_S) return relative.format(-Math.floor(past / 3600), "hour");
  return past < 30 * DAY_S ? relative.format(-Math.floor(past / DAY_S), "day") : day.format(then * 1000);
}

/** @param {number} then  in seconds since the epoch */
export const exactly = (then) => moment.format(then * 1000);

/** Without a year that goes without saying. @param {number} then  in seconds since the epoch */
export function shortly(then) {
  const date = new Date(then * 1000);
  return (date.getFullYear() === new Date().getFullYear() ? thisYear : moment).format(date);
}

/** @param {string} text */
export function wordCount(text) {
  const words = text.split(/\s+/).filter(Boolean).length;
  return `${count(words)} ${words === 1 ? "word" : "words"}`;
}

/** @param {number} number @param {string} one */
export const several = (number, one) => `${count(number)} ${number === 1 ? one : `${one}s`}`;

/**
 * What a commit did, in words; the name of its article is no news in that article's history.
 *
 * @param {string} subject
 * @param {string} name  of the article
 */
export function commitWords(subject, name) {
  const known = {
    [`Add ${name}`]: "Written",
    [`Edit ${name}`]: "Edited here",
    [`Change ${name}`]: "Proposal accepted",
    [`Delete ${name}`]: "Deleted",
    [`Import ${name}`]: "Imported",
    [`Keep changes made by hand to ${name}`]: "Changed outside Fireside",
    [`Revert "Change ${name}"`]: "Proposal undone",
    [`Revert "Add ${name}"`]: "Taken back",
  };
  if (subject.startsWith("Rename ") && subject.endsWith(` to ${name}`)) return "Renamed";
  return known[subject] ?? subject;
}

/** @param {{name: string, linked: readonly string[]}} renamed */
export function renamedWords({ name, linked }) {
  const links = linked.length ? ` The links to it in ${several(linked.length, "other article")} follow.` : "";
  return `The article is “${name}” now.${links}`;
}

/** The folder of an article's name, "" at the top. @param {string} name */
export const folderOf = (name) => name.split("/").slice(0, -1).join(" / ");

/**
 * The pieces of a line, those that begin with a looked-for word marked.
 *
 * @param {string} line
 * @param {readonly string[]} terms
 * @returns {{text: string, marked: boolean}[]}
 */
export function markedPieces(line, terms) {
  const words = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).filter(Boolean);
  if (words.length === 0) return [{ text: line, marked: false }];
  const pieces = line.split(new RegExp(`((?:${words.join("|")})[\\p{L}\\p{N}]*)`, "iu"));
  return pieces.map((text, index) => ({ text, marked: index % 2 === 1 })).filter(({ text }) => text);
}
