/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";

/**
 * @typedef {object} Notice
 * @property {string} text
 * @property {boolean} [reload]  whether reloading the page is the remedy
 * @property {() => void} [undo]  takes back what the notice tells of
 */

const UNDO_MS = 10_000;

/** What went wrong, or was done, and belongs to no message. */
export class Notices {
  /** @type {Signal<readonly Notice[]>} */
  shown = signal([]);

  /**
   * @param {string} text
   * @param {{reload?: boolean}} [options]
   */
  add(text, { reload = false } = {}) {
    if (this.shown.peek().some((notice) => notice.text === text)) return;
    this.shown.value = [...this.shown.peek(), { text, reload }];
  }

  /**
   * Tell of something that can be taken back for a while.
   *
   * @param {string} text
   * @param {() => void} undo
   */
  offerUndo(text, undo) {
    /** @type {Notice} */
    const notice = { text, undo: () => (this.dismiss(notice), undo()) };
    this.shown.value = [...this.shown.peek(), notice];
    setTimeout(() => this.dismiss(notice), UNDO_MS);
  }

  askForReload() {
    this.add("Fireside was updated. Reload the page to go on with the new version.", { reload: true });
  }

  /** @param {Notice} notice */
  dismiss(notice) {
    this.shown.value = this.shown.peek().filter((other) => other !== notice);
  }
}
