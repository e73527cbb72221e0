/** Footnotes lead to their texts and back. They have no addresses: those are the page's. */

const HOME = ".markdown";

/** @param {Document} page */
export function listenForNotes(page) {
  page.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button[data-note], button[data-note-back]");
    if (!(button instanceof HTMLElement)) return;
    const { note, noteBack } = button.dataset;
    const [name, label] = note === undefined ? ["note", noteBack ?? ""] : ["note-back", note];
    const target = button.closest(HOME)?.querySelector(`button[data-${name}="${CSS.escape(label)}"]`);
    if (target instanceof HTMLElement) show(target);
  });
}

/** @param {HTMLElement} target */
function show(target) {
  target.scrollIntoView({ block: "nearest" });
  target.focus();
}
