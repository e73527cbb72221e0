/**
 * @typedef {object} Model
 * @property {string} id
 * @property {string} name
 * @property {string | null} note
 * @property {number | null} context_window
 *
 * @typedef {"starting" | "importing" | "preparing" | "loading" | "warming" | "ready" | "restarting" | "switching" | "idle" | "failed" | "stopping"} EnginePhase
 *
 * @typedef {object} Switch  the latest change of the served model
 * @property {string} to
 * @property {string} name
 * @property {"draining" | "loading" | "returning" | "done" | "failed"} state
 * @property {string | null} error
 *
 * @typedef {object} Engine
 * @property {EnginePhase} phase
 * @property {string} detail
 * @property {Model | null} model
 * @property {number} bytes_done
 * @property {number} bytes_total
 * @property {number} seconds
 * @property {number} restarts
 * @property {number} rows
 * @property {number} queued
 * @property {string | null} error
 * @property {Switch | null} [switch]
 *
 * @typedef {object} Status
 * @property {string} version
 * @property {string} epoch
 * @property {"core" | "upstream"} mode
 * @property {string} home  the folder with all data
 * @property {boolean} login  whether a browser has to log in
 * @property {Engine} engine
 */

import { Backoff } from "./backoff.js";

const FETCH_LIMIT_MS = 4_000;
const POLL_MS = 2_000;

/**
 * Reads `/api/status` for ever: by its event stream where that works, by polling otherwise.
 *
 * @typedef {object} SourceOptions
 * @property {boolean} stream  whether to hold an event stream open
 * @property {(status: Status | null) => void} emit  gets null while nothing answers
 * @property {() => void} onLoggedOut
 */
export class StatusSource {
  #options;
  #backoff = new Backoff();

  /** @param {SourceOptions} options */
  constructor(options) {
    this.#options = options;
  }

  wake() {
    this.#backoff.wake();
  }

  async run() {
    for (;;) {
      const answered = await this.poll();
      if (answered && this.#options.stream) await this.#stream();
      if (answered && !this.#options.stream) await this.#backoff.sleep(POLL_MS);
      else await this.#backoff.pause();
    }
  }

  /** @returns {Promise<boolean>} whether Fireside answered */
  async poll() {
    try {
      const signal = AbortSignal.timeout(FETCH_LIMIT_MS);
      const response = await fetch("/api/status", { cache: "no-store", signal });
      if (response.status === 401) this.#options.onLoggedOut();
      if (!response.ok) throw new Error(`/api/status answered ${response.status}`);
      this.#options.emit(await response.json());
      return true;
    } catch {
      // No answer is the answer: the page says that Fireside is not running.
      this.#options.emit(null);
      return false;
    }
  }

  /** @returns {Promise<void>} resolved when the stream broke */
  #stream() {
    return new Promise((resolve) => {
      const events = new EventSource("/api/status/events");
      events.onmessage = (event) => {
        this.#backoff.reset();
        this.#options.emit(JSON.parse(event.data));
      };
      events.onerror = () => {
        events.close();
        resolve();
      };
    });
  }
}
