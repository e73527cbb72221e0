/** Formulas are copied as what was written, and can be reached by keyboard where they are too wide. */

import { formulaSource, plainText } from "./plain_text.js";

/** @param {Document} page */
export function listenForFormulas(page) {
  page.addEventListener("copy", (event) => {
    const selection = page.getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0 || event.defaultPrevented) return;
    const text = withSources(selection.getRangeAt(0));
    if (!text || !event.clipboardData) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  });
}

/** The text of a range with formulas in it, "" for one without. @param {Range} range */
function withSources(range) {
  const { commonAncestorContainer: common } = range;
  const around = (common instanceof Element ? common : common.parentElement)?.closest("math");
  if (around) return formulaSource(around);
  const fragment = range.cloneContents();
  return fragment.querySelector("math") ? plainText(fragment) : "";
}

/** @param {Element} block  is shown, and will not change any more */
export function keepReachable(block) {
  for (const box of block.querySelectorAll(".formula-box, .formula-wide")) {
    new ResizeObserver(() => reach(box)).observe(box);
  }
}

/** @param {Element} box */
function reach(box) {
  const wide = box.scrollWidth > box.clientWidth;
  if (wide === box.hasAttribute("tabindex")) return;
  for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": "Formula" })) {
    if (wide) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
}
