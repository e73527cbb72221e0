/** @import { Status } from "./status_source.js" */

import { signal } from "../lib.js";
import { StatusSource } from "./status_source.js";

const NAME = "fireside.status";

/**
 * What the engine is doing, the same in every tab.
 *
 * A browser keeps at most six connections to a host over HTTP/1.1, and an event stream occupies one for
 * ever. So one tab holds the stream (and the lock), and tells the others. Where the browser has no locks,
 * which is the case on plain http to another machine, each tab polls instead.
 */
export class EngineStatus {
  /** @type {import("../lib.js").Signal<Status | null>} the last known status */
  current = signal(null);
  /** Whether Fireside answers; null until it was tried. @type {import("../lib.js").Signal<boolean | null>} */
  reachable = signal(null);

  #shares = "locks" in navigator;
  #channel = new BroadcastChannel(NAME);
  #source;

  /** @param {() => void} onLoggedOut */
  constructor(onLoggedOut) {
    this.#source = new StatusSource({
      stream: this.#shares,
      emit: (status) => this.#publish(status),
      onLoggedOut,
    });
  }

  run() {
    this.#channel.onmessage = (event) => this.#accept(event.data);
    if (!this.#shares) return this.#source.run();
    void this.#source.poll();
    return navigator.locks.request(NAME, () => this.#source.run());
  }

  /** Try now if the server was not there. */
  wake() {
    if (!this.reachable.peek()) this.#source.wake();
  }

  /** Find out whether Fireside answers: what is known may be of a network that is gone, or of a login that has ended. */
  async check() {
    if (await this.#source.poll()) this.#source.wake();
  }

  /** @param {Status | null} status */
  #publish(status) {
    this.#accept(status);
    if (this.#shares) this.#channel.postMessage(status);
  }

  /** @param {Status | null} status */
  #accept(status) {
    this.reachable.value = status !== null;
    if (status) this.current.value = status;
  }
}
