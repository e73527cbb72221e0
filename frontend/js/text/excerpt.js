const FRONT_MATTER = /^---\n[\s\S]*?\n---\n/;
const HEADING = /^#{1,6}\s/;
/** Tables, rules, the fences of code. */
const NOT_PROSE = /^\s*(\||```|~~~|([-*_])(\s*\2){2,}\s*$)/;
const LEADING_SIGN = /^\s*(?:[-*+]|\d+[.)]|>)\s+(?:\[[ xX]\]\s+)?/;
const WIKILINK = /\[\[([^\]|#]*)(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]/g;
const LINK = /!?\[([^\]]*)\]\([^)]*\)/g;
const SIGNS = /\*\*|__|`/g;

/**
 * How an article begins, as plain text: up to the heading of its second part.
 *
 * @param {string} text  its Markdown
 * @param {number} characters  at most
 */
export function excerpt(text, characters) {
  const parts = text.replace(/\r\n/g, "\n").replace(FRONT_MATTER, "").split(/^(?=#{1,6}\s)/m);
  const prose = (parts.map(proseOf).find(Boolean) ?? "").trim();
  if (prose.length <= characters) return prose;
  const cut = prose.slice(0, characters);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), characters / 2)).trimEnd()}…`;
}

/** @param {string} part */
function proseOf(part) {
  return part
    .split("\n")
    .filter((line) => !HEADING.test(line) && !NOT_PROSE.test(line))
    .map((line) => line.replace(LEADING_SIGN, ""))
    .join(" ")
    .replace(WIKILINK, (_, name, label) => label || name)
    .replace(LINK, "$1")
    .replace(SIGNS, "")
    .replace(/\s+/g, " ")
    .trim();
}
