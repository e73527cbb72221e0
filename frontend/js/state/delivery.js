/** @import { ClientFrame } from "../protocol.d.ts" */
/** @import { Entry, Outbox } from "./outbox.js" */

const CONFIRM_LIMIT_MS = 20_000;
const UNCONFIRMED = "Fireside did not confirm this message. Retry sends it again; it is never asked twice.";

/** Brings the outbox to the server: in order, once a connection, into a new chat where there is none yet. */
export class Delivery {
  #outbox;
  #send;
  /** @type {Map<string, number>} timers of what was sent on this connection, by client id */
  #sent = new Map();
  #awaitsChat = false;

  /**
   * @param {Outbox} outbox
   * @param {(frame: ClientFrame) => boolean} send
   */
  constructor(outbox, send) {
    this.#outbox = outbox;
    this.#send = send;
  }

  /** The connection is lost: what was not confirmed counts as not sent. */
  pause() {
    this.#sent.forEach((timer) => clearTimeout(timer));
    this.#sent.clear();
    this.#awaitsChat = false;
  }

  /** Send what is due. The server recognizes by its client id what it already has. */
  flush() {
    for (const entry of this.#outbox.entries.peek()) {
      if (entry.error !== null || this.#sent.has(entry.client_id)) continue;
      if (entry.session_id === null) this.#askForChat(entry);
      else this.#deliver(entry, entry.session_id);
    }
  }

  /**
   * @param {string} session_id  the chat that a `history` frame is about, which nobody asked to open
   * @returns {boolean} whether it is the new chat that was asked for
   */
  openedChat(session_id) {
    if (!this.#awaitsChat) return false;
    this.#awaitsChat = false;
    this.#outbox.move(null, session_id);
    this.flush();
    return true;
  }

  /** @param {readonly (string | null | undefined)[]} client_ids */
  confirm(client_ids) {
    client_ids.forEach((id) => id && this.#forget(id));
    this.#outbox.remove(new Set(client_ids));
  }

  /**
   * @param {string} client_id
   * @param {string} reason
   */
  fail(client_id, reason) {
    this.#forget(client_id);
    this.#outbox.mark(client_id, reason);
  }

  /** @param {string} client_id */
  retry(client_id) {
    this.#forget(client_id);
    this.#outbox.mark(client_id, null);
    this.flush();
  }

  /** The chat is unknown to the server: its prompts open another one. @param {string} session_id */
  rehome(session_id) {
    this.#outbox.of(session_id).forEach((entry) => this.#forget(entry.client_id));
    this.#outbox.move(session_id, null);
    this.flush();
  }

  /** @param {Entry} entry  the first prompt of the chat */
  #askForChat({ temporary = false, settings = {} }) {
    if (!this.#awaitsChat) this.#awaitsChat = this.#send({ type: "new_session", temporary, settings });
  }

  /**
   * @param {Entry} entry
   * @param {string} session_id
   */
  #deliver({ client_id, text, manner: { attachments = [], ...rest } = {} }, session_id) {
    const files = attachments.map(({ sha256, name }) => ({ sha256, name }));
    if (!this.#send({ type: "prompt", session_id, text, client_id, attachments: files, ...rest })) return;
    this.#sent.set(client_id, setTimeout(() => this.fail(client_id, UNCONFIRMED), CONFIRM_LIMIT_MS));
  }

  /** @param {string} client_id */
  #forget(client_id) {
    clearTimeout(this.#sent.get(client_id));
    this.#sent.delete(client_id);
  }
}
