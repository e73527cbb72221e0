/** @import { ToolCall } from "../protocol.d.ts" */
/** @import { ToolModel } from "../state/tool.js" */

import { html, useId, useSignal } from "../lib.js";
import { milliseconds } from "../text/format.js";
import { PROPOSING, STATUS_WORDS, settledWords, toolWords } from "../text/tool_words.js";
import { Icon } from "./icons.js";
import { lazy } from "./lazy.js";

const ApprovalCard = lazy(async () => (await import("./approval_card.js")).ApprovalCard, { meanwhile: null });
const CallBody = lazy(async () => (await import("./call_body.js")).CallBody, { meanwhile: null });
const Proposal = lazy(async () => (await import("./proposal.js")).Proposal, { meanwhile: null });

/** Load what a call may need before there is one. */
export function prepareCalls() {
  for (const part of [ApprovalCard, CallBody, Proposal]) part.load();
}

/**
 * One call of a tool: a question as long as it waits for the person, then what it does and what came of it.
 *
 * @param {{model: ToolModel}} props
 */
export function ToolCard({ model }) {
  return model.call.value.status === "asking"
    ? html`<${ApprovalCard} model=${model} />`
    : html`<${Card} model=${model} />`;
}

/** @param {{model: ToolModel}} props */
function Card({ model }) {
  /** What the person chose; null as long as the card decides. */
  const chosen = useSignal(/** @type {boolean | null} */ (null));
  const id = useId();
  const call = model.call.value;
  // Output that streams in is worth a look, but only as long as it does.
  const open = chosen.value ?? (call.status === "running" && model.output.value !== "");
  const note = settledWords(call.settled);
  const turn = () => (chosen.value = !open);
  return html`<section class="call" data-testid="call" data-status=${call.status} data-call-id=${model.id}>
    <h2 class="call__title">
      <button type="button" class="call__head" aria-expanded=${open} aria-controls=${id} onClick=${turn}>
        <${Summary} call=${call} />
      </button>
    </h2>
    ${note && call.status !== "denied" && html`<p class="call__note">${note}</p>`}
    <div id=${id} class="call__body" hidden=${!open}>${open && html`<${CallBody} model=${model} />`}</div>
    ${PROPOSING.has(call.name) && call.status === "done" && html`<${Proposal} call_id=${call.call_id} />`}
  </section>`;
}

/** @param {{call: ToolCall}} props */
export function Summary({ call }) {
  const { words, subject, icon } = toolWords(call);
  return html`<${Icon} name=${icon} />
    <span class="call__words">${words}</span>
    <code class="call__subject" dir="auto">${subject}</code>
    <${State} call=${call} />
    <${Icon} name="right" />`;
}

/** @param {{call: ToolCall}} props */
function State({ call: { status, ms, changes } }) {
  const undone = changes.length > 0 && changes.every((change) => change.undone);
  const words = undone ? "Undone" : STATUS_WORDS[status];
  return html`<span class=${`call__state call__state--${status}`}>
    ${status === "running" && html`<span class="turn__ember"></span>`}
    ${status === "done" && !undone
      ? html`<${Icon} name="check" /><span class="visually-hidden">${words}</span>`
      : words}
    ${ms !== null && html`<span class="call__time">${milliseconds(ms)}</span>`}
  </span>`;
}
