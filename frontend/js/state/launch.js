/** @import { Drafts } from "./drafts.js" */
/** @import { Palette } from "./palette.js" */

const SHARED = ["title", "text", "url"];

/**
 * Does what the query of the address asks for, as the manifest's shortcuts and share target write it: text that
 * another app shared goes into a new chat's composer, behind what stands there, and is never sent by itself.
 * The query is taken off, so that a reload does not do it again.
 *
 * @param {{drafts: Drafts, palette: Palette}} app
 */
export function takeLaunch({ drafts, palette }) {
  if (!location.search) return;
  const query = new URLSearchParams(location.search);
  history.replaceState(null, "", location.pathname + location.hash);
  const text = sharedText(query);
  if (text) drafts.set(null, [drafts.get(null).trimEnd(), text].filter(Boolean).join("\n\n"));
  if (query.get("open") === "search") palette.open.value = true;
}

/**
 * What was shared, each line of it once: apps put the address, or the title, into the text too.
 *
 * @param {URLSearchParams} query
 */
function sharedText(query) {
  const parts = new Set(SHARED.map((name) => query.get(name)?.trim() ?? ""));
  const saidAlready = (/** @type {string} */ part) => [...parts].some((other) => other !== part && other.includes(part));
  return [...parts].filter((part) => part && !saidAlready(part)).join("\n");
}
