/** @import { Approval, ClientFrame, SessionRow } from "../protocol.d.ts" */
/** @import { Chats } from "./chats.js" */
/** @import { MessageModel } from "./message.js" */
/** @import { Notices } from "./notices.js" */
/** @import { Router } from "./router.js" */
/** @import { Session } from "./session.js" */

export const LOST = "Fireside is not connected just now, so nothing was changed. Try again in a moment.";

/**
 * @typedef {object} Parts
 * @property {Chats} chats
 * @property {Notices} notices
 * @property {Router} router
 * @property {Session} session
 * @property {(frame: ClientFrame) => boolean} send
 */

/** What the person wants done to a chat that is there. The answer comes as frames, as for everybody who watches. */
export class Wishes {
  #parts;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Stop the running answer; what there is of it is kept. */
  stop() {
    const { session } = this.#parts;
    if (session.running.peek()) {
      session.stopping.value = this.#aboutChat((session_id) => ({ type: "abort", session_id }));
    }
  }

  /**
   * Decide about a call that asks.
   *
   * @param {string} call_id
   * @param {Pick<Approval, "decision" | "always" | "edited_arguments">} ruling
   */
  rule(call_id, ruling) {
    return this.#aboutChat((session_id) => ({ type: "approval", session_id, call_id, ...ruling }));
  }

  /**
   * @param {string} call_id
   * @param {string} path
   */
  undoChange(call_id, path) {
    return this.#aboutChat((session_id) => ({ type: "undo_change", session_id, call_id, path }));
  }

  /** Ask a prompt again. @param {MessageModel} prompt */
  regenerate(prompt) {
    return this.#aboutChat((session_id) => ({ type: "regenerate", session_id, message_id: prompt.id }));
  }

  /** @param {string} message_id  the branch through it becomes the current one */
  selectBranch(message_id) {
    return this.#aboutChat((session_id) => ({ type: "select_branch", session_id, message_id }));
  }

  /**
   * @param {MessageModel} prompt  one that waits
   * @param {string} text  empty to take the prompt back
   */
  editQueued(prompt, text) {
    return this.#aboutChat((session_id) => ({ type: "edit_queued", session_id, message_id: prompt.id, text }));
  }

  /** Let a summary stand for the older messages. */
  compact() {
    const { session } = this.#parts;
    session.compacting.value = this.#aboutChat((session_id) => ({ type: "compact", session_id }));
  }

  /** @param {string} summary_id */
  undoCompact(summary_id) {
    return this.#aboutChat((session_id) => ({ type: "undo_compact", session_id, summary_id }));
  }

  /**
   * @param {string} id
   * @param {string} title
   */
  rename(id, title) {
    return this.#send({ type: "rename_session", id, title });
  }

  /**
   * @param {string} id
   * @param {{pinned?: boolean, archived?: boolean}} marks
   */
  mark(id, marks) {
    return this.#send({ type: "mark_session", id, ...marks });
  }

  /** Take a chat out of the list, or back into it. @param {SessionRow} row */
  archive({ id, title, archived }) {
    if (!this.mark(id, { archived: !archived })) return;
    const { notices } = this.#parts;
    if (archived) notices.forget(id);
    else notices.offerUndo(`“${title || "New chat"}” is archived.`, () => this.mark(id, { archived: false }), { about: id });
  }

  /** Delete a chat; for a while that can be undone. @param {SessionRow} row */
  remove(row) {
    const { chats, notices, router, session } = this.#parts;
    const shown = session.id.peek() === row.id;
    if (!this.#send({ type: "delete_session", id: row.id })) return false;
    chats.leaving.add(row.id);
    const restore = () => {
      if (this.#send({ type: "restore_session", id: row.id }) && shown) router.go(row.id);
    };
    notices.offerUndo(`“${row.title || "New chat"}” is deleted.`, restore, { about: row.id });
    return true;
  }

  /** @param {(session_id: string) => ClientFrame} make */
  #aboutChat(make) {
    const id = this.#parts.session.id.peek();
    return id !== null && this.#send(make(id));
  }

  /** @param {ClientFrame} frame */
  #send(frame) {
    const sent = this.#parts.send(frame);
    if (!sent) this.#parts.notices.add(LOST);
    return sent;
  }
}
