import { articleHref } from "../state/memory_place.js";

/** As the memory's articles write them; with a letter, so that lists of numbers stay what they are. */
const WIKILINK = /\[\[(?!\s)([^[\]\n|]*\p{L}[^[\]\n|]*)(?:\|([^[\]\n]+))?(?<!\s)\]\]/u;
const NOT_IN = "a, code, pre, math";

/**
 * Turn `[[Name]]` and `[[Name|label]]` in an answer's text into links to the memory's articles.
 *
 * @param {DocumentFragment} fragment
 */
export function linkArticles(fragment) {
  if (!fragment.textContent?.includes("[[")) return;
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  for (const text of texts) if (!text.parentElement?.closest(NOT_IN)) linkIn(text);
}

/** @param {Text} text */
function linkIn(text) {
  /** @type {Text} */
  let rest = text;
  for (let found = WIKILINK.exec(rest.data); found; found = WIKILINK.exec(rest.data)) {
    const link = rest.splitText(found.index);
    rest = link.splitText(found[0].length);
    link.replaceWith(anchor(found[1] ?? "", found[2]));
  }
}

/** @param {string} words @param {string} [label] */
function anchor(words, label) {
  const [name = "", ...heading] = words.split("#");
  const link = document.createElement("a");
  link.className = "wikilink";
  link.href = articleHref(name.trim() || words, name.trim() ? heading.join(" > ").trim() : "");
  link.textContent = label?.trim() || words;
  return link;
}
