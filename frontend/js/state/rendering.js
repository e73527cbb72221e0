/** @import { ClientFrame } from "../protocol.d.ts" */
/** @import { MessageModel } from "./message.js" */
/** @import { Session } from "./session.js" */

/** As many as one frame may ask for. */
const MOST = 100;
/** The server refuses more frames than it thinks a page needs. */
const PAUSE_MS = 60;
/** After this an answer is not expected any more. */
const LOST_MS = 5_000;

/** Asks for the rendered text of old messages, which a chat does not bring along. */
export class Rendering {
  #session;
  #send;
  /** @type {WeakMap<MessageModel, number>} when each message was asked for */
  #asked = new WeakMap();
  /** @type {MessageModel[]} */
  #due = [];
  #timer = 0;

  /** @param {{session: Session, send: (frame: ClientFrame) => boolean}} parts */
  constructor({ session, send }) {
    this.#session = session;
    this.#send = send;
  }

  /** @param {readonly MessageModel[]} messages  near the reader; what was wanted before and not yet asked for is not */
  want(messages) {
    const now = performance.now();
    const lost = (/** @type {MessageModel} */ message) => now - (this.#asked.get(message) ?? -LOST_MS) >= LOST_MS;
    this.#due = messages.filter((message) => !message.rendered.peek() && lost(message));
    if (!this.#timer) this.#ask();
  }

  #ask() {
    this.#timer = 0;
    const session_id = this.#session.id.peek();
    const asked = this.#due.splice(0, MOST);
    if (!session_id || asked.length === 0) return;
    if (!this.#send({ type: "render", session_id, message_ids: asked.map(({ id }) => id) })) return;
    for (const message of asked) this.#asked.set(message, performance.now());
    this.#timer = setTimeout(() => this.#ask(), PAUSE_MS);
  }
}
