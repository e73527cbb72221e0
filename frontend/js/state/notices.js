/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";

/**
 * @typedef {object} Notice
 * @property {string} text
 * @property {boolean} reload  whether reloading the page is the remedy
 */

/** What went wrong and belongs to no message. */
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

  askForReload() {
    this.add("Fireside was updated. Reload the page to go on with the new version.", { reload: true });
  }

  /** @param {Notice} notice */
  dismiss(notice) {
    this.shown.value = this.shown.peek().filter((other) => other !== notice);
  }
}
