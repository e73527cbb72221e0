/** @import { Hit } from "../../state/search.js" */
/** @import { App } from "../context.js" */
/** @import { IconName } from "../icons.js" */

import { pieces } from "../../dom/snippet.js";
import { articleHref } from "../../state/memory_place.js";
import { href, placeHref } from "../../state/router.js";
import { KINDS, matches } from "../../text/palette_words.js";
import { fromMark, plainSnippet } from "../../text/plain_snippet.js";
import { actionsOf } from "../actions.js";
import { SECTIONS as MODELS } from "../models/sections.js";
import { SECTIONS } from "../settings/view.js";
import { VIEWS } from "../views.js";

const FEW = 5;
const CHATS = 8;
/** Characters before what was found. */
const LEAD = 60;

/**
 * A row of the palette.
 *
 * @typedef {object} Row
 * @property {string} key
 * @property {IconName} icon
 * @property {string} title
 * @property {string} [note]  what it is, or where
 * @property {string} [keys]
 * @property {{text: string, marked: boolean}[]} [snippet]
 * @property {() => unknown} run
 *
 * @typedef {{title: string, rows: Row[]}} Group
 */

/** What the palette offers for what is typed. Reads signals, so that it follows them. @param {App} app @returns {Group[]} */
export function groupsOf(app) {
  const query = app.palette.query.value.trim();
  const groups = [
    { title: query ? "Chats" : "Recent chats", rows: chatRows(app, query) },
    { title: "Actions", rows: actionRows(app, query) },
    { title: "Go to", rows: placeRows(query) },
    { title: "Found in chats and memory", rows: query ? foundRows(app) : [] },
  ];
  return groups.filter(({ rows }) => rows.length > 0);
}

/** @param {App} app @param {string} query @returns {Row[]} */
function chatRows({ chats, session }, query) {
  const rows = chats.rows.value.filter((row) => (query ? matches(row.title, query) : !row.archived && row.id !== session.id.value));
  return rows.slice(0, query ? CHATS : FEW).map((row) => ({
    key: `chat-${row.id}`,
    icon: row.pinned ? "pin" : row.archived ? "archive" : "chat",
    title: row.title || "New chat",
    note: row.asking ? "Asks you" : row.archived ? "Archived" : "",
    run: () => go(href(row.id)),
  }));
}

/** @param {App} app @param {string} query @returns {Row[]} */
function actionRows(app, query) {
  return actionsOf(app)
    .filter(({ title, words = "", slash = "" }) => matches(`${title} ${words} ${slash}`, query))
    .map(({ title, icon, keys, slash, run }) => ({ key: `do-${title}`, icon, title, keys: keys ?? slash ?? "", run }));
}

/** @param {string} query @returns {Row[]} */
function placeRows(query) {
  /** @type {Row[]} */
  const views = VIEWS.map(({ view, label, icon }) => ({ key: `view-${view}`, icon, title: label, run: () => go(placeHref(view)) }));
  /** @type {Row[]} */
  const sections = SECTIONS.map(({ place, title }) => ({
    key: `settings-${place}`,
    icon: "sliders",
    title,
    note: "Settings",
    run: () => go(placeHref("settings", place)),
  }));
  /** @type {Row[]} */
  const models = MODELS.map(({ place, title }) => ({
    key: `models-${place}`,
    icon: "chip",
    title,
    note: "Models",
    run: () => go(placeHref("models", place)),
  }));
  if (!query) return views;
  return [...views, ...models, ...sections].filter(({ title, note = "" }) => matches(`${title} ${note}`, query));
}

/** An article is there once, by its best place. @param {App} app @returns {Row[]} */
function foundRows(app) {
  const articles = new Set();
  return app.palette.search.hits.value
    .filter(({ kind, name }) => kind !== "memory" || (!articles.has(name) && articles.add(name)))
    .map((hit, number) => hitRow(app, hit, number));
}

/** @param {App} app @param {Hit} hit @param {number} number @returns {Row} */
function hitRow({ search }, { kind, session_id, session_title, message_id, name, heading, archived, snippet }, number) {
  const memory = kind === "memory";
  const where = memory ? heading : [session_title || "New chat", archived && "archived"].filter(Boolean).join(", ");
  const open = () => {
    if (memory) return go(articleHref(name ?? "", heading ?? ""));
    if (session_id && message_id) search.target.value = { session_id, message_id };
    return go(href(session_id));
  };
  return {
    key: `hit-${number}-${message_id ?? name}`,
    icon: memory ? "book" : kind === "tool" ? "tool" : kind === "attachment" ? "file" : kind === "reasoning" ? "gauge" : "chat",
    title: memory ? (name ?? "") : kind === "attachment" || kind === "tool" ? [name, where].filter(Boolean).join(" · ") : (where ?? ""),
    note: [KINDS[kind], memory && where].filter(Boolean).join(" · "),
    snippet: fromMark(memory ? plainSnippet(pieces(snippet)) : pieces(snippet), LEAD),
    run: open,
  };
}

/** @param {string} address */
function go(address) {
  location.hash = address;
}
