/** What the buttons in the head of a code block do. */

import { copyText } from "./clipboard.js";
import { Shelf } from "./storage.js";

export const COPY = "code__copy";
export const SAVE = "code__save";
export const WRAP = "code__wrap";

const DONE_MS = 2_000;
const SHELF = new Shelf("localStorage", "wrap");

/** Whether long lines of code are broken. */
export function wraps() {
  return document.documentElement.classList.contains("wrap-code");
}

/** @param {Document} page */
export function listenForActs(page) {
  page.documentElement.classList.toggle("wrap-code", SHELF.get() === "yes");
  page.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest(".code__act");
    const code = button && button.closest(".code");
    if (!code) return;
    if (button.classList.contains(COPY)) void copy(button, code);
    else if (button.classList.contains(SAVE)) save(/** @type {HTMLElement} */ (code));
    else wrap(page, !wraps());
  });
}

/** @param {Element} block */
const textOf = (block) => block.querySelector("code")?.textContent ?? "";

/** @param {Element} button @param {Element} block */
async function copy(button, block) {
  button.textContent = (await copyText(textOf(block))) ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = "Copy"), DONE_MS);
}

/** @param {HTMLElement} block */
function save(block) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([textOf(block)], { type: "text/plain" }));
  link.download = block.dataset["file"] ?? "code.txt";
  link.click();
  // The browser reads it a moment after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), DONE_MS);
}

/** For all code, and for the next visit. @param {Document} page @param {boolean} on */
function wrap(page, on) {
  SHELF.set(on ? "yes" : "");
  page.documentElement.classList.toggle("wrap-code", on);
  for (const button of page.querySelectorAll(`.${WRAP}`)) button.setAttribute("aria-pressed", String(on));
}
