/** @import * as Frames from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */
/** @import { MessageModel } from "./message.js" */

import { batch, computed, signal } from "../lib.js";
import { Tree } from "./tree.js";
import { partsOf } from "./turns.js";

/** The chat that the page shows, kept up to date by its frames. */
export class Session {
  /** @type {Signal<string | null>} null for a chat that has no message yet */
  id = signal(null);
  title = signal("");
  tree = new Tree();
  /** @type {Signal<"new" | "opening" | "open" | "missing">} */
  view = signal("new");
  /** Why the chat could not be opened, "" as long as that is not known. */
  trouble = signal("");
  /** Never written down, and gone once nobody shows it; of a new chat: the wish for that. */
  temporary = signal(false);
  /** @type {Signal<readonly Frames.Summary[]>} */
  summaries = signal([]);
  /** @type {Signal<Frames.SessionSettings>} */
  settings = signal({});
  /** @type {Signal<Frames.Context | null>} the last word on how full the context window is */
  context = signal(null);
  /** @type {Signal<Frames.Ready | null>} the model that answers, whatever the chat; the last that is known */
  model = signal(null);
  /** Tokens that it can see at once. */
  window = computed(() => this.model.value?.context_window ?? null);
  /** Stop was pressed and the turn has not ended yet. */
  stopping = signal(false);
  /** Older messages are being summarized. */
  compacting = signal(false);
  running = computed(() => this.tree.all.value.find((message) => message.status.value === "running") ?? null);
  /** Prompts that wait for the running answer. */
  queued = computed(() => (this.running.value ? this.tree.path.value.filter(isQueued) : []));
  /** What was said on the current branch. */
  messages = computed(() => this.tree.path.value.filter((message) => !this.queued.value.includes(message)));
  parts = computed(() => partsOf(this.messages.value, this.summaries.value));
  /** The calls that wait for the person's decision. */
  asking = computed(() =>
    (this.running.value?.tools.value ?? []).filter((tool) => tool.call.value.status === "asking"),
  );

  /** Where the frames seen so far end: what `open_session` needs to go on. */
  position = { epoch: "", after_seq: 0 };

  #reducers = {
    accepted: (/** @type {Frames.Accepted} */ frame) => this.tree.addPrompt(frame.message),
    turn_start: (/** @type {Frames.TurnStart} */ frame) => this.tree.begin(frame.message),
    step_start: (/** @type {Frames.StepStart} */ frame) => this.#nextStep(frame),
    progress: (/** @type {Frames.Progress} */ frame) => this.#progress(frame),
    text_delta: (/** @type {Frames.TextDelta} */ frame) => this.tree.find(frame.message_id)?.append(frame.text),
    reasoning_delta: (/** @type {Frames.ReasoningDelta} */ frame) => this.tree.find(frame.message_id)?.think(frame.text),
    blocks: (/** @type {Frames.Blocks} */ frame) => this.tree.find(frame.message_id)?.replaceBlocks(frame),
    tool_start: (/** @type {Frames.ToolStart} */ frame) => this.#putCall(frame),
    tool_approval_request: (/** @type {Frames.ToolApprovalRequest} */ frame) => this.#putCall(frame),
    approval_settled: (/** @type {Frames.ApprovalSettled} */ frame) => this.#putCall(frame),
    tool_update: (/** @type {Frames.ToolUpdate} */ frame) => this.#output(frame),
    tool_end: (/** @type {Frames.ToolEnd} */ frame) => this.#putCall(frame),
    context: (/** @type {Frames.Context} */ frame) => void (this.context.value = frame),
    turn_end: (/** @type {Frames.TurnEnd} */ frame) => this.#endTurn(frame),
  };

  /** @param {string | null} id  show this chat from now on, empty until its history comes */
  reset(id) {
    batch(() => {
      this.id.value = id;
      this.title.value = "";
      this.tree.clear();
      this.view.value = id ? "opening" : "new";
      this.trouble.value = "";
      this.temporary.value = false;
      this.summaries.value = [];
      this.settings.value = {};
      this.context.value = null;
      this.stopping.value = this.compacting.value = false;
      this.position = { epoch: "", after_seq: 0 };
    });
  }

  /** @param {Frames.History} history  replaces everything; messages that stay keep their elements */
  replace(history) {
    const goesOn = this.id.peek() === history.session_id && this.tree.leaf.peek() === history.leaf_id;
    batch(() => {
      this.id.value = history.session_id;
      this.title.value = history.title;
      this.tree.replace(history.messages, history.leaf_id);
      this.temporary.value = history.temporary;
      this.summaries.value = history.summaries;
      this.settings.value = history.settings;
      // Another branch fills the window otherwise.
      if (!goesOn) this.context.value = null;
      this.view.value = "open";
      this.trouble.value = "";
      if (!this.running.peek()) this.stopping.value = false;
      this.compacting.value = false;
      this.position = { epoch: history.epoch, after_seq: history.seq };
    });
  }

  /**
   * @param {Frames.SessionFrame} frame
   * @returns {boolean} false when frames before this one are missing, and it was not applied
   */
  receive(frame) {
    const foreign = frame.session_id !== this.id.peek() || this.view.peek() !== "open";
    if (foreign || frame.seq <= this.position.after_seq) return true;
    if (frame.seq > this.position.after_seq + 1) return false;
    this.position.after_seq = frame.seq;
    const reduce = /** @type {((frame: Frames.SessionFrame) => void) | undefined} */ (this.#reducers[frame.type]);
    batch(() => reduce?.(frame));
    return true;
  }

  /** @param {Frames.Rendered} frame */
  adoptHtml({ session_id, html }) {
    if (session_id !== this.id.peek()) return;
    batch(() => this.tree.all.peek().forEach((message) => html[message.id] && message.adoptHtml(html[message.id] ?? [])));
  }

  /** @param {Frames.StepStart} frame */
  #nextStep({ ended, message }) {
    this.tree.update(ended);
    this.tree.begin(message);
  }

  /** @param {Frames.Progress} frame */
  #progress(frame) {
    const message = this.tree.find(frame.message_id);
    if (message) message.progress.value = frame.phase === "decode" ? null : frame;
  }

  /** @param {{message_id: string, call: Frames.ToolCall}} frame */
  #putCall({ message_id, call }) {
    this.tree.find(message_id)?.put(call);
  }

  /** @param {Frames.ToolUpdate} frame */
  #output({ message_id, call_id, text }) {
    this.tree.find(message_id)?.tool(call_id)?.append(text);
  }

  /** @param {Frames.TurnEnd} frame */
  #endTurn({ message }) {
    this.tree.update(message);
    this.stopping.value = false;
  }
}

/** @param {MessageModel} message */
const isQueued = (message) => message.status.value === "queued";
