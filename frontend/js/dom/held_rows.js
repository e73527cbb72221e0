import { signal } from "../lib.js";

const MOST = 20;

/**
 * Rows that must stay in the document wherever the reader scrolls: what has the focus, what is selected, and what was
 * opened or changed by hand lately, which would be closed when it comes back.
 */
export class HeldRows {
  #column;
  /** @type {string[]} keys, the newest last */
  #touched = [];
  /** @type {(Node | null)[]} where the selection begins and ends */
  #ends = [];
  /** Asking for the selection makes the browser lay out the page, so it is asked only after it has changed. */
  #stale = true;
  /** Counts what may let go of a row, so that whoever draws them does so again. */
  #changes = signal(0);

  /** @param {HTMLElement} column  its children are the rows, each with its `data-key` */
  constructor(column) {
    this.#column = column;
    // Before anybody acts on it, which may take what was clicked out of the document.
    column.addEventListener("click", this.#onTouch, { capture: true });
    column.addEventListener("keydown", this.#onTouch, { capture: true });
    document.addEventListener("selectionchange", this.#onSelection);
  }

  stop() {
    document.removeEventListener("selectionchange", this.#onSelection);
    this.#column.removeEventListener("click", this.#onTouch, { capture: true });
    this.#column.removeEventListener("keydown", this.#onTouch, { capture: true });
  }

  clear() {
    this.#touched = [];
  }

  /** @returns {Set<string>} */
  keys() {
    void this.#changes.value;
    if (this.#stale) this.#lookAtSelection();
    const held = [document.activeElement, ...this.#ends].map((node) => this.#keyOf(node));
    return new Set([...this.#touched, ...held.filter((key) => key !== "")]);
  }

  #lookAtSelection() {
    const selection = document.getSelection();
    this.#ends = selection?.isCollapsed === false ? [selection.anchorNode, selection.focusNode] : [];
    this.#stale = false;
  }

  #onSelection = () => {
    this.#stale = true;
    if (this.#ends.length > 0) this.#changes.value++;
  };

  #onTouch = (/** @type {Event} */ event) => {
    const key = this.#keyOf(/** @type {Node} */ (event.target));
    if (key) this.#touched = [...this.#touched.filter((other) => other !== key), key].slice(-MOST);
  };

  /** @param {Node | null} node */
  #keyOf(node) {
    const element = node instanceof Element ? node : node?.parentElement;
    if (!element || !this.#column.contains(element)) return "";
    return element.closest("[data-key]")?.getAttribute("data-key") ?? "";
  }
}
