/** @import { Blocks, Message, Progress } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";

/** A message as the page shows it. The text streams into plain fields; `version` says when to paint them. */
export class MessageModel {
  /** Markdown, for Copy. */
  text = "";
  /** @type {string[]} rendered Markdown */
  blocks = [];
  /** How many of the blocks will not change any more. */
  finished = 0;
  version = signal(0);

  /** @type {Signal<Message["status"]>} */
  status = signal("running");
  /** @type {Signal<string | null>} */
  error = signal(null);
  /** @type {Signal<Message["receipt"]>} */
  receipt = signal(null);
  /** @type {Signal<Progress | null>} what a running answer waits for */
  progress = signal(null);

  /** @param {Message} message */
  constructor(message) {
    this.id = message.id;
    this.role = message.role;
    /** The same before and after the server knew the message, so that its element stays. */
    this.key = message.client_id ?? message.id;
    this.adopt(message);
  }

  /** @param {Message} message  the server's word on all of it */
  adopt(message) {
    this.text = message.text;
    this.blocks = message.html;
    this.finished = message.status === "running" ? Math.max(message.html.length - 1, 0) : message.html.length;
    this.status.value = message.status;
    this.error.value = message.error;
    this.receipt.value = message.receipt;
    if (message.status !== "running") this.progress.value = null;
    this.version.value += 1;
  }

  /** @param {string} text */
  append(text) {
    this.text += text;
    this.progress.value = null;
  }

  /** @param {Blocks} frame */
  replaceBlocks({ start, html }) {
    this.blocks = [...this.blocks.slice(0, start), ...html];
    this.finished = start;
    this.version.value += 1;
  }
}
