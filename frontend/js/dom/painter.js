/**
 * Runs what was asked for at most once per animation frame, however often it was asked for. A frame that shows what
 * was just typed is left free, so that it comes at once; the one after it is not, so that nobody waits for long.
 */
export class Painter {
  /** @type {Set<() => void>} */
  #due = new Set();
  #typed = false;

  /** @param {EventTarget} page  where typing is heard of */
  constructor(page) {
    page.addEventListener("beforeinput", () => (this.#typed = true), { capture: true, passive: true });
  }

  /** @param {() => void} paint  the same function object counts once */
  request(paint) {
    if (this.#due.size === 0) requestAnimationFrame(() => this.#flush());
    this.#due.add(paint);
  }

  /** @param {() => void} paint */
  cancel(paint) {
    this.#due.delete(paint);
  }

  #flush() {
    if (!this.#typed) return this.#paint();
    this.#typed = false;
    requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#typed = false;
    const due = [...this.#due];
    this.#due.clear();
    for (const paint of due) paint();
  }
}
