/** @import { ClientFrame, Error as ErrorFrame, Hello, History, ServerFrame, SessionFrame } from "../protocol.d.ts" */
/** @import { Chats } from "./chats.js" */
/** @import { Drafts } from "./drafts.js" */
/** @import { Notices } from "./notices.js" */
/** @import { Manner, Outbox } from "./outbox.js" */
/** @import { Router } from "./router.js" */
/** @import { Session } from "./session.js" */

import { Delivery } from "./delivery.js";
import { Departures } from "./departures.js";

const PROTOCOL = 3;

/**
 * @typedef {object} Parts
 * @property {Session} session
 * @property {Outbox} outbox
 * @property {Chats} chats
 * @property {Drafts} drafts
 * @property {Notices} notices
 * @property {Router} router
 * @property {(frame: ClientFrame) => boolean} send
 */

/** Speaks the protocol: hands each frame to the part that it concerns, and turns wishes into frames. */
export class Client {
  #parts;
  #delivery;
  #departures;
  /** @type {Set<string>} chats that were asked for by id */
  #asked = new Set();
  /** Missing frames were asked for. */
  #catchingUp = false;
  /** A copy of a chat was asked for, and is to be shown. */
  #forking = false;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#delivery = new Delivery(parts.outbox, parts.send);
    this.#departures = new Departures(parts);
  }

  /** @param {string | null} id  the chat to show; null for a new one */
  show(id) {
    const { session } = this.#parts;
    if (id === session.id.peek() && session.view.peek() !== "missing") return;
    session.reset(id);
    this.open();
  }

  /** @param {boolean} [temporary]  whether the new chat leaves no trace */
  startChat(temporary = false) {
    const { router, session } = this.#parts;
    router.go(null);
    session.temporary.value = temporary;
  }

  /** @param {string} text @param {Manner} [manner] */
  ask(text, manner) {
    const { outbox, session } = this.#parts;
    const id = session.id.peek();
    const chat = { temporary: session.temporary.peek(), settings: session.settings.peek() };
    outbox.add(id, text, { ...(manner && { manner }), ...(id === null && chat) });
    this.#delivery.flush();
  }

  /** Copy the branch up to a message into a chat of its own, and show that. @param {string} message_id */
  fork(message_id) {
    const { send, session } = this.#parts;
    const id = session.id.peek();
    if (id) this.#forking = send({ type: "fork_session", id, message_id });
  }

  /** @param {string} client_id */
  retry(client_id) {
    this.#delivery.retry(client_id);
  }

  /** Take a failed prompt out of the outbox. @param {string} client_id */
  discard(client_id) {
    this.#delivery.confirm([client_id]);
  }

  /** The connection is lost. */
  pause() {
    this.#delivery.pause();
    this.#catchingUp = this.#forking = false;
    this.#parts.session.stopping.value = this.#parts.session.compacting.value = false;
  }

  /** @param {ServerFrame} frame */
  receive(frame) {
    this.#parts.notices.hear(frame, this.#parts.session.temporary.peek());
    switch (frame.type) {
      case "hello":
        return this.#hello(frame);
      case "sessions":
        this.#parts.chats.replace(frame.sessions, frame.deleted);
        return void this.#departures.look();
      case "history":
        return this.#history(frame);
      case "deleted":
        return this.#deleted(frame.session_id);
      case "error":
        return this.#error(frame);
      case "rendered":
        return this.#parts.session.adoptHtml(frame);
      case "storage":
        return undefined; // the notices have heard it
      case "ready":
        // Its name is in /api/status, which also knows what happens before there is a model.
        return void (this.#parts.session.model.value = frame);
      default:
        return this.#session(frame);
    }
  }

  /** @param {Hello} frame */
  #hello({ protocol }) {
    if (protocol !== PROTOCOL) this.#parts.notices.askForReload();
    this.#parts.send({ type: "list_sessions" });
    this.open();
    this.#delivery.flush();
  }

  /** Ask for the chat that is shown, or for what is missing of it. */
  open() {
    const { session, send } = this.#parts;
    const id = session.id.peek();
    session.trouble.value = "";
    if (!id) return;
    this.#asked.add(id);
    send({ type: "open_session", id, ...session.position });
  }

  /** @param {History} frame */
  #history(frame) {
    const { drafts, session, router } = this.#parts;
    this.#delivery.confirm(frame.messages.map((message) => message.client_id));
    if (frame.session_id === session.id.peek()) return session.replace(frame);
    if (this.#asked.has(frame.session_id)) return;
    if (this.#forking && frame.messages.length > 0) return this.#showFork(frame);
    if (!this.#delivery.openedChat(frame.session_id)) return;
    if (session.id.peek() !== null) return this.open();
    this.#asked.add(frame.session_id);
    drafts.move(null, frame.session_id);
    session.replace(frame);
    router.go(frame.session_id, { replace: true });
  }

  /** @param {History} frame */
  #showFork(frame) {
    const { router, session } = this.#parts;
    this.#forking = false;
    this.#asked.add(frame.session_id);
    session.reset(frame.session_id);
    session.replace(frame);
    router.go(frame.session_id);
  }

  /** @param {SessionFrame} frame */
  #session(frame) {
    if (frame.type === "accepted") this.#delivery.confirm([frame.message.client_id]);
    const complete = this.#parts.session.receive(frame);
    if (!complete && !this.#catchingUp) this.open();
    this.#catchingUp = !complete;
  }

  /** @param {string} id */
  #deleted(id) {
    const { drafts, outbox, router, session } = this.#parts;
    const unsent = outbox.of(id);
    this.#delivery.confirm(unsent.map((entry) => entry.client_id));
    const shown = session.id.peek() === id;
    this.#departures.note(id, shown);
    if (!shown) return;
    if (unsent.length) drafts.set(null, unsent.map((entry) => entry.text).join("\n\n"));
    router.go(null, { replace: true });
  }

  /** @param {ErrorFrame} frame */
  #error(frame) {
    const { notices, outbox, session } = this.#parts;
    const entry = frame.client_id ? outbox.find(frame.client_id) : undefined;
    const shown = frame.session_id !== null && frame.session_id === session.id.peek();
    if (shown && frame.code === "unknown_session" && session.messages.peek().length === 0) {
      return this.#unknownChat(frame.session_id ?? "");
    }
    session.compacting.value = this.#forking = false;
    if (shown && !frame.client_id && session.view.peek() === "opening") {
      return void (session.trouble.value = frame.message);
    }
    if (!frame.client_id) return frame.code === "storage_failed" ? undefined : notices.add(frame.message);
    // A prompt that has found another chat since is not failed by the old one.
    return entry?.session_id === frame.session_id ? this.#delivery.fail(frame.client_id, frame.message) : undefined;
  }

  /** @param {string} id */
  #unknownChat(id) {
    const { drafts, outbox, router, session } = this.#parts;
    if (outbox.of(id).length === 0) return void (session.view.value = "missing");
    drafts.move(id, null);
    session.reset(null);
    router.go(null, { replace: true });
    this.#delivery.rehome(id);
  }
}
