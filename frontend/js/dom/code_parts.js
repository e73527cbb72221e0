/**
 * Long code as parts of equal length: a browser lays out a text anew from its start when it grows at its end,
 * which takes too long for thousands of lines.
 */

const PART_LINES = 200;

/** @param {Element} code  of text alone */
export function splitLong(code) {
  const text = code.textContent ?? "";
  const [first = "", ...rest] = cut(text);
  if (rest.length === 0) return;
  code.textContent = first;
  code.append(...rest.map(part));
}

/**
 * @param {Element} code  as `splitLong` left it
 * @param {string} text
 */
export function appendText(code, text) {
  const last = code.lastChild instanceof HTMLElement ? code.lastChild : code;
  const before = last.lastChild instanceof Text ? last.lastChild.data : "";
  const [first = "", ...rest] = cut(before + text);
  const added = first.slice(before.length);
  if (last.lastChild instanceof Text) last.lastChild.appendData(added);
  else last.append(added);
  code.append(...rest.map(part));
}

/** @param {string} text */
function part(text) {
  const element = document.createElement("span");
  element.className = "code__part";
  element.textContent = text;
  return element;
}

/** @param {string} text */
function cut(text) {
  /** @type {string[]} */
  const parts = [];
  let start = 0;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
    if (lines % PART_LINES > 0 || at + 1 === text.length) continue;
    parts.push(text.slice(start, at + 1));
    start = at + 1;
  }
  return [...parts, text.slice(start)];
}
