import { loadHighlighter } from "../lib.js";
import { copyText } from "./clipboard.js";

const HIGHLIGHT_LIMIT = 60_000;
const COPIED_MS = 2_000;

/**
 * Give the code blocks and tables of freshly parsed Markdown what HTML alone does not: a header with the
 * language and a Copy button, and a box that scrolls sideways and can be reached by keyboard.
 *
 * @param {DocumentFragment} fragment
 */
export function dress(fragment) {
  for (const code of fragment.querySelectorAll("pre > code")) dressCode(code);
  for (const table of fragment.querySelectorAll("table")) {
    table.replaceWith(scroller("table-box", "Table", table.cloneNode(true)));
  }
}

/** @param {Element} code */
function dressCode(code) {
  const pre = /** @type {HTMLElement} */ (code.parentElement);
  const language = languageOf(code);
  const figure = document.createElement("figure");
  figure.className = "code";
  const caption = document.createElement("figcaption");
  const name = document.createElement("span");
  name.textContent = language || "text";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code__copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy code");
  caption.append(name, button);
  pre.replaceWith(figure);
  pre.tabIndex = 0;
  pre.dir = "ltr";
  figure.append(caption, pre);
}

/**
 * @param {string} className
 * @param {string} label
 * @param {Node} content
 */
function scroller(className, label, content) {
  const box = document.createElement("div");
  box.className = className;
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  box.append(content);
  return box;
}

/** @param {Element} code */
function languageOf(code) {
  return [...code.classList].find((name) => name.startsWith("language-"))?.slice("language-".length) ?? "";
}

/**
 * Colour the code blocks below `root`. Languages that highlight.js does not know stay plain.
 *
 * @param {Element} root
 */
export async function highlight(root) {
  const blocks = [...root.querySelectorAll("pre > code[class*=language-]")];
  if (blocks.length === 0) return;
  const highlighter = await loadHighlighter();
  if (!highlighter) return;
  for (const code of blocks) {
    const language = languageOf(code);
    const text = code.textContent ?? "";
    if (text.length > HIGHLIGHT_LIMIT || !highlighter.getLanguage(language)) continue;
    code.innerHTML = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
  }
}

/**
 * One listener serves all Copy buttons, so that blocks can be replaced freely.
 *
 * @param {Document} page
 */
export function listenForCopy(page) {
  page.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest(".code__copy");
    if (button) void copyFrom(button);
  });
}

/** @param {Element} button */
async function copyFrom(button) {
  const code = button.closest(".code")?.querySelector("code");
  const copied = await copyText(code?.textContent ?? "");
  button.textContent = copied ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
}
