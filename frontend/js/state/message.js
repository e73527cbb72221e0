/** @import { Attachment, Blocks, Message, Progress, ToolCall } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { ToolModel } from "./tool.js";

/** A message as the page shows it. The text streams into plain fields; `version` says when to paint them. */
export class MessageModel {
  /** Markdown, for Copy. */
  text = "";
  /** @type {string[]} rendered Markdown */
  blocks = [];
  /** How many of the blocks will not change any more. */
  finished = 0;
  version = signal(0);
  /** Whether `blocks` are those of the text; those of an old message come when they are asked for. */
  rendered = signal(false);

  /** @type {Signal<string | null>} the message it follows */
  parent = signal(null);
  /** @type {Signal<Message["status"]>} */
  status = signal("running");
  /** @type {Signal<string | null>} */
  error = signal(null);
  /** @type {Signal<Message["receipt"]>} */
  receipt = signal(null);
  /** @type {Signal<Progress | null>} what a running answer waits for */
  progress = signal(null);
  /** What the model thought, plain text. */
  reasoning = signal("");
  /** @type {Signal<number | null>} how long it thought, once it has stopped */
  reasoning_ms = signal(null);
  /** @type {Signal<readonly ToolModel[]>} */
  tools = signal([]);
  /** @type {readonly Attachment[]} */
  attachments = [];
  steering = signal(false);

  #thinkingSince = 0;

  /** @param {Message} message */
  constructor(message) {
    this.id = message.id;
    this.role = message.role;
    this.created_at = message.created_at;
    /** The same before and after the server knew the message, so that its element stays. */
    this.key = message.client_id ?? message.id;
    this.adopt(message);
  }

  /** @param {Message} message  the server's word on all of it */
  adopt(message) {
    this.#adoptText(message);
    this.attachments = message.attachments;
    this.parent.value = message.parent_id;
    this.status.value = message.status;
    this.error.value = message.error;
    this.receipt.value = message.receipt;
    this.steering.value = message.steering;
    this.reasoning.value = message.reasoning;
    this.reasoning_ms.value = message.reasoning_ms ?? (message.status === "running" ? this.reasoning_ms.peek() : null);
    this.tools.value = message.tools.map((call) => this.#adopted(call));
    if (message.status !== "running") this.progress.value = null;
    this.version.value += 1;
  }

  /** @param {string[]} html  of the text as it is */
  adoptHtml(html) {
    this.blocks = html;
    this.finished = html.length;
    this.rendered.value = true;
    this.version.value += 1;
  }

  /** @param {Message} message */
  #adoptText({ text, html, status }) {
    if (html === null && this.rendered.peek() && text === this.text) return;
    this.text = text;
    this.blocks = html ?? [];
    this.finished = status === "running" ? Math.max(this.blocks.length - 1, 0) : this.blocks.length;
    this.rendered.value = html !== null;
  }

  /** @param {string} text */
  append(text) {
    this.text += text;
    this.progress.value = null;
    this.#endThinking();
  }

  /** @param {string} text */
  think(text) {
    this.#thinkingSince ||= performance.now();
    this.reasoning.value += text;
    this.progress.value = null;
  }

  /** @param {Blocks} frame */
  replaceBlocks({ start, html }) {
    this.blocks = [...this.blocks.slice(0, start), ...html];
    this.finished = start;
    this.version.value += 1;
  }

  /** @param {ToolCall} call  as it is now */
  put(call) {
    const known = this.tool(call.call_id);
    if (known) known.adopt(call);
    else this.tools.value = [...this.tools.peek(), new ToolModel(call)];
    this.progress.value = null;
    this.#endThinking();
  }

  /** @param {string} call_id */
  tool(call_id) {
    return this.tools.peek().find((tool) => tool.id === call_id);
  }

  /** @param {ToolCall} call */
  #adopted(call) {
    const known = this.tool(call.call_id);
    known?.adopt(call);
    return known ?? new ToolModel(call);
  }

  /** The server says how long it took only with the whole answer. */
  #endThinking() {
    if (!this.#thinkingSince) return;
    this.reasoning_ms.value ??= Math.round(performance.now() - this.#thinkingSince);
    this.#thinkingSince = 0;
  }
}
