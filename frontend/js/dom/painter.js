/** Runs what was asked for at most once per animation frame, however often it was asked for. */
export class Painter {
  /** @type {Set<() => void>} */
  #due = new Set();

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
    const due = [...this.#due];
    this.#due.clear();
    for (const paint of due) paint();
  }
}
