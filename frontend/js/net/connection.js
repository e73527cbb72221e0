/** @import { ClientFrame, ServerFrame } from "../protocol.d.ts" */

import { signal } from "../lib.js";
import { Backoff } from "./backoff.js";

const OPEN_LIMIT_MS = 10_000;
const PROBE_LIMIT_MS = 5_000;
/** Characters; a longer frame takes so long to read that what is done with it had better be a task of its own. */
const LONG_FRAME = 200_000;

/** How a socket is closed whose session has ended, or whose key was deleted. */
const LOGGED_OUT = 1008;

/**
 * The socket to the agent: connects, and connects again whenever it was lost.
 *
 * @typedef {object} Options
 * @property {URL} url
 * @property {(frame: ServerFrame) => void} onFrame
 * @property {() => void} onLoggedOut
 */
export class Connection {
  /** Whether frames can be sent now. */
  open = signal(false);

  #options;
  #backoff = new Backoff();
  /** @type {WebSocket | null} */
  #socket = null;
  #lastFrameAt = 0;
  /** A long frame that was just read, and what has come since then. @type {ServerFrame[]} */
  #held = [];

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  /** Runs for the life of the page. */
  async run() {
    for (;;) {
      await this.#connectOnce();
      await this.#backoff.pause();
    }
  }

  /**
   * @param {ClientFrame} frame
   * @returns {boolean} whether it was handed to an open socket
   */
  send(frame) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Connect now if there is no connection. */
  wake() {
    this.#backoff.wake();
  }

  /** After a sleep of the machine a socket may look open and be dead: ask for something, expect an answer. */
  probe() {
    const askedAt = performance.now();
    const socket = this.#socket;
    if (!this.send({ type: "list_sessions" })) return this.wake();
    setTimeout(() => {
      if (this.#lastFrameAt < askedAt && socket === this.#socket) this.#drop();
    }, PROBE_LIMIT_MS);
  }

  /** @returns {Promise<void>} resolved when the socket is lost */
  #connectOnce() {
    return new Promise((resolve) => {
      const socket = new WebSocket(this.#options.url);
      this.#socket = socket;
      const limit = setTimeout(() => this.#drop(), OPEN_LIMIT_MS);
      socket.onmessage = (event) => {
        clearTimeout(limit);
        this.#take(event.data);
      };
      socket.onclose = ({ code }) => {
        clearTimeout(limit);
        if (code === LOGGED_OUT) this.#options.onLoggedOut();
        this.open.value = false;
        resolve();
      };
    });
  }

  /** @param {string} text  of a frame */
  #take(text) {
    const frame = JSON.parse(text);
    if (this.#held.length === 0 && text.length < LONG_FRAME) return this.#receive(frame);
    if (this.#held.push(frame) === 1) setTimeout(() => this.#held.splice(0).forEach((each) => this.#receive(each)));
    return undefined;
  }

  /** @param {ServerFrame} frame */
  #receive(frame) {
    this.#lastFrameAt = performance.now();
    if (frame.type === "hello") {
      this.#backoff.reset();
      this.open.value = true;
    }
    this.#options.onFrame(frame);
  }

  /** Closing a dead socket can take a minute, so its end is not waited for. */
  #drop() {
    const socket = this.#socket;
    socket?.close();
    socket?.dispatchEvent(new CloseEvent("close"));
    if (socket) socket.onclose = socket.onmessage = null;
  }
}
