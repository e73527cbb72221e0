/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";

/**
 * Something that is read from Fireside, shown, and changed.
 *
 * @template T
 */
export class Listing {
  /** @type {Signal<T | null>} null until it was read */
  value = signal(/** @type {T | null} */ (null));
  /** Why the last reading or change failed, "" if it did not. */
  error = signal("");
  busy = signal(false);

  #read;
  #readings = 0;
  #newest = 0;

  /** @param {() => Promise<T>} read */
  constructor(read) {
    this.#read = read;
  }

  /** Read it. What was read before stays where that fails. */
  load() {
    return this.change(async () => {});
  }

  /**
   * Change something, then read again.
   *
   * @param {() => Promise<unknown>} work
   * @returns {Promise<boolean>} whether it was done
   */
  async change(work) {
    this.busy.value = true;
    try {
      await work();
      const reading = ++this.#readings;
      const value = await this.#read();
      // One that began earlier may answer later, and knows less.
      if (reading > this.#newest) {
        this.#newest = reading;
        this.value.value = value;
      }
      this.error.value = "";
      return true;
    } catch (error) {
      this.error.value = reasonOf(error);
      return false;
    } finally {
      this.busy.value = false;
    }
  }
}
