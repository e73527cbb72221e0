/** @import { Message } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { computed, signal } from "../lib.js";
import { MessageModel } from "./message.js";

/** The messages of a chat: a tree, of which one branch is the current one. */
export class Tree {
  /** @type {Signal<readonly MessageModel[]>} every message after its parent */
  all = signal([]);
  /** @type {Signal<string | null>} where the current branch ends */
  leaf = signal(null);
  /** The current branch, from the first message on. */
  path = computed(() => this.#pathTo(this.leaf.value));
  /** Looked up by every message that is shown. */
  #children = computed(() => Map.groupBy(this.all.value, (message) => message.parent.value));

  clear() {
    this.all.value = [];
    this.leaf.value = null;
  }

  /**
   * @param {readonly Message[]} messages
   * @param {string | null} leaf
   */
  replace(messages, leaf) {
    const known = new Map(this.all.peek().map((message) => [message.id, message]));
    this.all.value = messages.map((message) => {
      const model = known.get(message.id);
      model?.adopt(message);
      return model ?? new MessageModel(message);
    });
    this.leaf.value = leaf ?? messages.at(-1)?.id ?? null;
  }

  /** @param {string | null} id */
  find(id) {
    return this.all.peek().find((message) => message.id === id);
  }

  /** @param {Message} prompt  the current branch ends with it now, unless it is known already */
  addPrompt(prompt) {
    if (this.update(prompt)) return;
    this.all.value = [...this.all.peek(), new MessageModel(prompt)];
    this.leaf.value = prompt.id;
  }

  /**
   * @param {Message} message
   * @returns {boolean} whether it is known
   */
  update(message) {
    const known = this.find(message.id);
    known?.adopt(message);
    return known !== undefined;
  }

  /** @param {Message} answer  begins behind what it follows; prompts that wait hang on it from now on */
  begin(answer) {
    if (this.update(answer)) return;
    const leaf = this.find(this.leaf.peek());
    const waits = leaf?.status.peek() === "queued" && leaf.id !== answer.parent_id;
    const messages = [...this.all.peek()];
    for (const message of messages) this.#moveBehind(message, answer);
    const parent = messages.findIndex((message) => message.id === answer.parent_id);
    messages.splice(parent < 0 ? messages.length : parent + 1, 0, new MessageModel(answer));
    this.all.value = messages;
    if (!waits) this.leaf.value = answer.id;
  }

  /**
   * @param {MessageModel} message
   * @param {Message} answer
   */
  #moveBehind(message, answer) {
    if (message.id === answer.parent_id) {
      if (message.role === "user") message.status.value = "done";
    } else if (message.parent.peek() === answer.parent_id && message.status.peek() === "queued") {
      message.parent.value = answer.id;
    }
  }

  /**
   * The messages that follow the same one, oldest first: this one and what was said in its place.
   *
   * @param {MessageModel} message
   */
  siblings(message) {
    return (this.#children.value.get(message.parent.value) ?? [])
      .filter((other) => other === message || other.status.value !== "queued")
      .sort((one, other) => one.created_at - other.created_at);
  }

  /** @param {string | null} leaf */
  #pathTo(leaf) {
    const known = new Map(this.all.value.map((message) => [message.id, message]));
    /** @type {MessageModel[]} */
    const path = [];
    for (let message = known.get(leaf ?? ""); message; message = known.get(message.parent.value ?? "")) {
      path.push(message);
    }
    return path.reverse();
  }
}
