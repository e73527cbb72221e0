/** @import { Accepted, Blocks, History, Message, Progress, SessionFrame, TextDelta, TurnEnd, TurnStart } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { batch, computed, signal } from "../lib.js";
import { MessageModel } from "./message.js";

/** The chat that the page shows, kept up to date by its frames. */
export class Session {
  /** @type {Signal<string | null>} null for a chat that has no message yet */
  id = signal(null);
  title = signal("");
  /** @type {Signal<MessageModel[]>} */
  messages = signal([]);
  /** @type {Signal<"new" | "opening" | "open" | "missing">} */
  view = signal("new");
  /** Stop was pressed and the turn has not ended yet. */
  stopping = signal(false);
  running = computed(() => this.messages.value.find((message) => message.status.value === "running") ?? null);

  /** Where the frames seen so far end: what `open_session` needs to go on. */
  position = { epoch: "", after_seq: 0 };

  #reducers = {
    accepted: (/** @type {Accepted} */ frame) => this.#upsert(frame.message),
    turn_start: (/** @type {TurnStart} */ frame) => this.#startTurn(frame),
    progress: (/** @type {Progress} */ frame) => this.#progress(frame),
    text_delta: (/** @type {TextDelta} */ frame) => this.#find(frame.message_id)?.append(frame.text),
    blocks: (/** @type {Blocks} */ frame) => this.#find(frame.message_id)?.replaceBlocks(frame),
    turn_end: (/** @type {TurnEnd} */ frame) => this.#endTurn(frame),
  };

  /** @param {string | null} id  show this chat from now on, empty until its history comes */
  reset(id) {
    batch(() => {
      this.id.value = id;
      this.title.value = "";
      this.messages.value = [];
      this.view.value = id ? "opening" : "new";
      this.stopping.value = false;
      this.position = { epoch: "", after_seq: 0 };
    });
  }

  /** @param {History} history  replaces everything; messages that stay keep their elements */
  replace(history) {
    const known = new Map(this.messages.peek().map((message) => [message.id, message]));
    batch(() => {
      this.id.value = history.session_id;
      this.title.value = history.title;
      this.messages.value = history.messages.map((message) => {
        const model = known.get(message.id);
        model?.adopt(message);
        return model ?? new MessageModel(message);
      });
      this.view.value = "open";
      this.stopping.value = false;
      this.position = { epoch: history.epoch, after_seq: history.seq };
    });
  }

  /**
   * @param {SessionFrame} frame
   * @returns {boolean} false when frames before this one are missing, and it was not applied
   */
  receive(frame) {
    const foreign = frame.session_id !== this.id.peek() || this.view.peek() !== "open";
    if (foreign || frame.seq <= this.position.after_seq) return true;
    if (frame.seq > this.position.after_seq + 1) return false;
    this.position.after_seq = frame.seq;
    const reduce = /** @type {((frame: SessionFrame) => void) | undefined} */ (this.#reducers[frame.type]);
    batch(() => reduce?.(frame));
    return true;
  }

  /** @param {string} id */
  #find(id) {
    return this.messages.peek().find((message) => message.id === id);
  }

  /** @param {Message} message */
  #upsert(message) {
    const known = this.#find(message.id);
    if (known) known.adopt(message);
    else this.messages.value = [...this.messages.peek(), new MessageModel(message)];
  }

  /** The answer comes right after its prompt: other prompts may be queued behind it. @param {TurnStart} frame */
  #startTurn({ prompt_id, message }) {
    const prompt = this.#find(prompt_id);
    if (prompt) prompt.status.value = "done";
    if (!prompt || this.#find(message.id)) return this.#upsert(message);
    const messages = [...this.messages.peek()];
    messages.splice(messages.indexOf(prompt) + 1, 0, new MessageModel(message));
    this.messages.value = messages;
  }

  /** @param {Progress} frame */
  #progress(frame) {
    const message = this.#find(frame.message_id);
    if (message) message.progress.value = frame.phase === "decode" ? null : frame;
  }

  /** @param {TurnEnd} frame */
  #endTurn({ message }) {
    this.#upsert(message);
    this.stopping.value = false;
  }
}
