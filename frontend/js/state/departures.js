/** @import { ClientFrame } from "../protocol.d.ts" */
/** @import { Chats } from "./chats.js" */
/** @import { Drafts } from "./drafts.js" */
/** @import { Notices } from "./notices.js" */
/** @import { Router } from "./router.js" */
/** @import { Session } from "./session.js" */

import { Shelf } from "../dom/storage.js";
import { readDeleted } from "../net/deleted_api.js";
import { LOST } from "./wishes.js";

/**
 * @typedef {object} Parts
 * @property {Chats} chats
 * @property {Drafts} drafts
 * @property {Notices} notices
 * @property {Router} router
 * @property {Session} session
 * @property {(frame: ClientFrame) => boolean} send
 */

/** Deleted chats as far as this page minds: the draft of one is kept as long as it can be restored. */
export class Departures {
  #parts;
  // The ids whose drafts wait. Other drafts are never dropped: their chats may be newer than the list.
  #shelf = new Shelf("localStorage", "draft_waits");
  #files = new Shelf("localStorage", "files");
  /** How many could be restored when the drafts were last looked through. */
  #looked = -1;
  /** @type {string | null} the chat of which the page said that it was deleted elsewhere */
  #told = null;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** A chat was deleted. @param {string} id @param {boolean} shown  whether the person has it before them */
  note(id, shown) {
    const { chats, drafts } = this.#parts;
    const row = chats.find(id);
    const own = chats.leaving.delete(id);
    chats.remove(id);
    // One that is not in the list is temporary.
    if (!row) return this.#drop(id);
    if (drafts.get(id) || this.#files.get(id)) this.#keep([...new Set([...this.#waiting(), id])]);
    if (shown && !own) this.#tell(id, row.title || "New chat");
  }

  /** The list of chats came: some may be back, others deleted for good. */
  async look() {
    const { chats, session } = this.#parts;
    const { value: count } = chats.deleted;
    const goneOn = session.id.peek() !== null;
    if (this.#told && (goneOn || count === 0 || chats.find(this.#told))) this.#untell();
    const waiting = this.#waiting();
    if (waiting.length === 0 || count === this.#looked) return;
    const kept = count === 0 ? [] : await restorable();
    if (!kept) return;
    this.#looked = count;
    const gone = waiting.filter((id) => !chats.find(id) && !kept.includes(id));
    gone.forEach((id) => this.#drop(id));
    this.#keep(this.#waiting().filter((id) => !gone.includes(id)));
  }

  /** Forget what was being written in a chat. @param {string} id */
  #drop(id) {
    this.#parts.drafts.set(id, "");
    this.#files.set("", id);
  }

  /** @param {string} id @param {string} title */
  #tell(id, title) {
    const { notices, router, send } = this.#parts;
    this.#untell();
    this.#told = id;
    const restore = () => (send({ type: "restore_session", id }) ? router.go(id) : notices.add(LOST));
    notices.offerUndo(`“${title}” was deleted in another tab or on another device.`, restore, { about: id, stays: true });
  }

  /** Only the last is told of, until the person has gone on to another chat. */
  #untell() {
    if (this.#told) this.#parts.notices.forget(this.#told);
    this.#told = null;
  }

  /** @returns {string[]} */
  #waiting() {
    return JSON.parse(this.#shelf.get() || "[]");
  }

  /** @param {readonly string[]} ids */
  #keep(ids) {
    this.#shelf.set(ids.length ? JSON.stringify(ids) : "");
  }
}

/** Null where that cannot be known: the next list of chats asks again. */
async function restorable() {
  try {
    return (await readDeleted()).sessions.map(({ id }) => id);
  } catch {
    return null;
  }
}
