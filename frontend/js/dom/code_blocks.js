import { loadHighlighter } from "../lib.js";
import { fileName } from "../text/file_names.js";
import { COPY, SAVE, WRAP, listenForActs, wraps } from "./code_acts.js";
import { appendText, splitLong } from "./code_parts.js";
import { listenForFormulas } from "./formulas.js";
import { listenForNotes } from "./notes.js";

/** Colouring and showing more characters holds up the page for longer than is noticed. */
const HIGHLIGHT_LIMIT = 30_000;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const OF_ITS_OWN_DIRECTION = "li, li p, td, th, blockquote p, .note p";
const CODE_START = "<pre><code";
const CODE_END = "</code></pre>\n";

/**
 * Give the code blocks and tables of freshly parsed Markdown what HTML alone does not: a head with the name
 * and what can be done with it, and a box that scrolls sideways and can be reached by keyboard.
 *
 * @param {DocumentFragment} fragment
 */
export function dress(fragment) {
  if (RIGHT_TO_LEFT.test(fragment.textContent ?? "")) direct(fragment);
  for (const code of fragment.querySelectorAll("pre > code")) dressCode(/** @type {HTMLElement} */ (code));
  for (const table of fragment.querySelectorAll("table")) {
    const box = scroller("table-box", "Table");
    table.replaceWith(box);
    box.append(table);
  }
}

/**
 * Paragraphs of both directions in one block each keep their own, code keeps its. What is around them goes by its
 * first letter: `auto` would not look into what has a direction of its own.
 *
 * @param {DocumentFragment} fragment
 */
function direct(fragment) {
  for (const element of fragment.querySelectorAll(OF_ITS_OWN_DIRECTION)) element.setAttribute("dir", "auto");
  for (const around of fragment.querySelectorAll("ul, ol, blockquote, table, .note")) {
    around.setAttribute("dir", RIGHT_TO_LEFT.test(/\p{L}/u.exec(around.textContent ?? "")?.[0] ?? "") ? "rtl" : "ltr");
  }
  for (const code of fragment.querySelectorAll(":not(pre) > code")) code.setAttribute("dir", "ltr");
}

/** @param {HTMLElement} code */
function dressCode(code) {
  const pre = /** @type {HTMLElement} */ (code.parentElement);
  const language = languageOf(code);
  const { name = "" } = code.dataset;
  const figure = document.createElement("figure");
  figure.className = "code";
  const caption = document.createElement("figcaption");
  const title = document.createElement("span");
  title.className = "code__name";
  title.dir = "auto";
  title.textContent = name || language || "text";
  const file = fileName(language, name);
  const wrap = button(WRAP, "Wrap", "Wrap long lines");
  wrap.setAttribute("aria-pressed", String(wraps()));
  caption.append(title, wrap, button(SAVE, "Save", `Save code as ${file}`), button(COPY, "Copy", "Copy code"));
  pre.replaceWith(figure);
  pre.tabIndex = 0;
  pre.dir = "ltr";
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", `Code: ${title.textContent}`);
  figure.dataset.file = file;
  figure.append(caption, pre);
  splitLong(code);
}

/**
 * @param {string} className
 * @param {string} words
 * @param {string} label
 */
function button(className, words, label) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `code__act ${className}`;
  made.textContent = words;
  made.setAttribute("aria-label", label);
  return made;
}

/**
 * @param {string} className
 * @param {string} label
 */
function scroller(className, label) {
  const box = document.createElement("div");
  box.className = className;
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
  return box;
}

/** @param {Element} code */
function languageOf(code) {
  return [...code.classList].find((name) => name.startsWith("language-"))?.slice("language-".length) ?? "";
}

/**
 * The quick way for what grows longest: code that only got longer gets only what is new.
 *
 * @param {Element} block  shows `before`
 * @param {string} before
 * @param {string} after
 * @returns {boolean} whether it was that, and `block` shows `after`
 */
export function extendCode(block, before, after) {
  if (!before.startsWith(CODE_START) || !before.endsWith(CODE_END) || !after.endsWith(CODE_END)) return false;
  const kept = before.length - CODE_END.length;
  if (after.length < before.length || !after.startsWith(before.slice(0, kept))) return false;
  const code = block.querySelector(":scope > .code code");
  if (!code) return false;
  const parsed = document.createElement("template");
  // A paragraph keeps a line break that it begins with, `pre` would not.
  parsed.innerHTML = `<p>${after.slice(kept, -CODE_END.length)}</p>`;
  appendText(code, parsed.content.textContent ?? "");
  return true;
}

/**
 * Colour the code blocks below `root`, once they are on the screen: each in a task of its own, so that neither what is
 * shown nor what is typed waits for colours. Languages that highlight.js does not know stay plain.
 *
 * @param {Element} root
 */
export async function highlight(root) {
  for (const code of root.querySelectorAll("pre > code[class*=language-]")) {
    await shown();
    const highlighter = await loadHighlighter();
    const language = languageOf(code);
    const text = code.textContent ?? "";
    if (!code.isConnected || text.length > HIGHLIGHT_LIMIT || !highlighter?.getLanguage(language)) continue;
    code.innerHTML = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
  }
}

/** The frame that comes next is on its way to the screen. */
function shown() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/**
 * What can be done inside an answer's text. One listener serves all blocks, so that they can be replaced freely.
 *
 * @param {Document} page
 */
export function listenForCopy(page) {
  listenForActs(page);
  listenForFormulas(page);
  listenForNotes(page);
}
