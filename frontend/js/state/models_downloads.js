/** @import { Signal } from "../lib.js" */
/** @import { Bits, Download } from "../net/models_api.js" */

import { computed, signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { readDownloads, startDownload, tellDownload } from "../net/models_api.js";

const BUSY_MS = 600;
const IDLE_MS = 5_000;

/** The downloads of models, followed for as long as somebody looks. */
export class ModelDownloads {
  /** @type {Signal<readonly Download[] | null>} null until they were read */
  rows = signal(null);
  /** Why they could not be read, "" if they could. */
  error = signal("");
  /** Those that go on or wait to. */
  live = computed(() => (this.rows.value ?? []).filter(({ state }) => state === "running" || state === "queued"));

  #onEnd;
  #open = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {(download: Download) => void} onEnd  told of each that ends, well or not, while it is looked at */
  constructor(onEnd) {
    this.#onEnd = onEnd;
  }

  start() {
    this.#open = true;
    void this.read();
  }

  close() {
    this.#open = false;
    clearTimeout(this.#timer);
  }

  async read() {
    clearTimeout(this.#timer);
    try {
      this.#take(await readDownloads());
      this.error.value = "";
    } catch (error) {
      this.error.value = reasonOf(error);
    }
    clearTimeout(this.#timer);
    if (this.#open) this.#timer = setTimeout(() => void this.read(), this.live.peek().length ? BUSY_MS : IDLE_MS);
  }

  /**
   * @param {string} repo_id
   * @param {Bits | null} bits  of the conversion; null for none
   */
  async get(repo_id, bits) {
    await startDownload(repo_id, bits);
    await this.read();
  }

  /** @param {string} id @param {"pause" | "resume" | "cancel"} verb */
  async tell(id, verb) {
    try {
      await tellDownload(id, verb);
    } finally {
      await this.read();
    }
  }

  /** The one of a model that is not over, else its last. @param {string} repo_id */
  of(repo_id) {
    return this.rows.value?.find((download) => download.repo_id === repo_id);
  }

  /** @param {readonly Download[]} rows */
  #take(rows) {
    const before = new Map(this.rows.peek()?.map(({ id, state }) => [id, state]));
    this.rows.value = rows;
    for (const row of rows) {
      const known = before.get(row.id);
      if (known && known !== row.state && (row.state === "done" || row.state === "failed")) this.#onEnd(row);
    }
  }
}
