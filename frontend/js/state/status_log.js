/** @import { LogLine, LogPage } from "../net/status_api.js" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { readLogs } from "../net/status_api.js";

const PAGE = 20;
/** As many as Fireside gives at once. */
const MOST = 1_000;

/** The requests that have ended, the newest first, and those that end meanwhile. */
export class RecentRequests {
  /** @type {Signal<readonly LogLine[] | null>} null until they were read */
  lines = signal(/** @type {readonly LogLine[] | null} */ (null));
  /** Whether there may be older ones to show. */
  more = signal(false);
  busy = signal(false);
  error = signal("");

  #cursor = "";

  /** Read what has come since; all where nothing was read before. */
  async follow() {
    if (this.busy.peek()) return;
    if (!this.#cursor) return this.#read(PAGE);
    await this.#try(async () => {
      const page = await readLogs({ limit: MOST, after: this.#cursor });
      if (page.gone) this.#show(await readLogs({ limit: PAGE }), PAGE);
      else this.#prepend(page);
    });
  }

  showMore() {
    return this.#read(Math.min((this.lines.peek()?.length ?? 0) + PAGE, MOST));
  }

  /** @param {number} limit */
  async #read(limit) {
    this.busy.value = true;
    await this.#try(async () => this.#show(await readLogs({ limit }), limit));
    this.busy.value = false;
  }

  /** @param {LogPage} page @param {number} limit */
  #show(page, limit) {
    this.#cursor = page.next;
    this.lines.value = page.lines.toReversed();
    this.more.value = page.lines.length === limit && limit < MOST;
  }

  /** @param {LogPage} page */
  #prepend(page) {
    this.#cursor = page.next;
    if (page.lines.length) this.lines.value = [...page.lines.toReversed(), ...(this.lines.peek() ?? [])].slice(0, MOST);
  }

  /** @param {() => Promise<void>} work */
  async #try(work) {
    try {
      await work();
      this.error.value = "";
    } catch (error) {
      this.error.value = reasonOf(error);
    }
  }
}
