/** @typedef {{text: string, marked: boolean}} Piece */

const LABELLED = /\[\[[^\]|]*\|([^\]|]*)\]\]/g;
const BRACKETS = /\[\[|\]\]/g;
const EMPHASIS = /\*\*/g;
const HEADING = /(^|\s)#{1,6}\s/g;
/** The line below a table's head. */
const RULE = /(?:\|\s*)?(?::?-{2,}:?\s*\|\s*)+(?::?-{2,}:?)?/g;
const BARS = /\s*\|(?:\s*\|)*\s*/g;

/**
 * A snippet of an article without the signs of Markdown, which would be read as noise.
 *
 * @param {readonly Piece[]} pieces
 * @returns {Piece[]}
 */
export function plainSnippet(pieces) {
  const plain = pieces.map(({ text, marked }) => ({ text: marked ? text : withoutSigns(text), marked }));
  const [first] = plain;
  const last = plain.at(-1);
  if (first) first.text = first.text.replace(/^[\s·]+/, "");
  if (last) last.text = last.text.replace(/[\s·]+$/, "");
  return plain.filter(({ text }) => text);
}

/** @param {string} text */
const withoutSigns = (text) =>
  text.replace(LABELLED, "$1").replace(RULE, "|").replace(BARS, " · ").replace(BRACKETS, "").replace(EMPHASIS, "").replace(HEADING, "$1");

/**
 * What was found stands near the start, where few lines are shown.
 *
 * @param {readonly Piece[]} pieces
 * @param {number} lead  so many characters may come before it
 * @returns {Piece[]}
 */
export function fromMark(pieces, lead) {
  const at = pieces.findIndex(({ marked }) => marked);
  const before = pieces.slice(0, Math.max(at, 0)).map(({ text }) => text).join("");
  if (before.length <= lead) return [...pieces];
  const end = before.slice(-lead);
  return [{ text: `…${end.slice(end.search(/\s/) + 1)}`, marked: false }, ...pieces.slice(at)];
}
