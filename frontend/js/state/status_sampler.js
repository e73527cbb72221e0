/** @import { InFlight, Stats } from "../net/status_api.js" */
/** @import { Reading, Sample } from "./status_series.js" */
/** @import { Signal } from "../lib.js" */

import { batch, signal } from "../lib.js";
import { readCounters, readRequests, readStats } from "../net/status_api.js";
import { NOTHING, figuresOf } from "./status_series.js";

export const EVERY_MS = 2_000;
export const KEPT_MS = 5 * 60_000;

/** A difference over a longer time than this, as after a sleep, says nothing of now. */
const STALE_MS = 4 * EVERY_MS;

/** Reads the figures every two seconds while it runs and the page is seen. */
export class StatusSampler {
  /** @type {Signal<readonly Sample[]>} of the last five minutes */
  samples = signal(/** @type {readonly Sample[]} */ ([]));
  /** @type {Signal<Stats | null>} */
  stats = signal(/** @type {Stats | null} */ (null));
  /** @type {Signal<readonly InFlight[]>} */
  requests = signal(/** @type {readonly InFlight[]} */ ([]));
  /** When Fireside last answered, in milliseconds; 0 if it never did. */
  answered = signal(0);
  /** Whether the last reading got no answer. */
  failed = signal(false);

  #also;
  #timer = 0;
  #running = false;
  /** @type {Reading | null} */
  #before = null;
  #onVisible = () => this.#wake();

  /** @param {() => Promise<unknown>} also  what is read at the same times */
  constructor(also) {
    this.#also = also;
  }

  start() {
    document.addEventListener("visibilitychange", this.#onVisible);
    this.#running = true;
    void this.read();
  }

  close() {
    document.removeEventListener("visibilitychange", this.#onVisible);
    this.#running = false;
    clearTimeout(this.#timer);
  }

  /** Read now, and from then on every two seconds. */
  async read() {
    clearTimeout(this.#timer);
    await Promise.all([this.#take(), this.#also()]);
    clearTimeout(this.#timer);
    if (this.#running && !document.hidden) this.#timer = setTimeout(() => void this.read(), EVERY_MS);
  }

  #wake() {
    if (document.hidden) clearTimeout(this.#timer);
    else void this.read();
  }

  async #take() {
    try {
      const stats = await readStats();
      // Where another server runs the model, there is nothing to count here.
      const counting = stats.engine.mode === "core" ? readCounters().catch(() => null) : null;
      const [counters, requests] = await Promise.all([counting, readRequests()]);
      this.#accept({ time: Date.now(), stats, counters, requests });
    } catch {
      // Fireside is down or too busy to answer: that is what the page then shows.
      this.#before = null;
      batch(() => {
        this.failed.value = true;
        this.#add({ time: Date.now(), figures: NOTHING });
      });
    }
  }

  /** @param {Reading} reading */
  #accept(reading) {
    const before = this.#before && reading.time - this.#before.time < STALE_MS ? this.#before : null;
    this.#before = reading;
    batch(() => {
      this.failed.value = false;
      this.answered.value = reading.time;
      this.stats.value = reading.stats;
      this.requests.value = reading.requests;
      this.#add({ time: reading.time, figures: figuresOf(reading, before) });
    });
  }

  /** @param {Sample} sample */
  #add(sample) {
    const kept = this.samples.peek().filter(({ time }) => time > sample.time - KEPT_MS);
    this.samples.value = [...kept, sample];
  }
}
