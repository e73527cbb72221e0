/** @import { MessageModel } from "../state/message.js" */

import { html, useComputed, useSignal } from "../lib.js";
import { otherWriter } from "../state/models_writer.js";
import { turnReceipt } from "../state/turn_receipt.js";
import { answerEnd, partGiven } from "../text/message_words.js";
import { shortName } from "../text/models_words.js";
import { useApp } from "./context.js";
import { CopyAnswer, markdownOf } from "./copy_answer.js";
import { Icon } from "./icons.js";
import { Receipt } from "./receipt.js";
import { Siblings } from "./siblings.js";

/** What follows an answer that does not grow any more. @param {{steps: readonly MessageModel[]}} props */
export function AnswerFoot({ steps }) {
  const { client, connected, session } = useApp();
  const open = useSignal(false);
  const [first, last] = /** @type {[MessageModel, MessageModel]} */ ([steps[0], steps.at(-1)]);
  const turn = turnReceipt(steps);
  const end = answerEnd(last.status.value, last.error.value);
  const writer = useComputed(() => otherWriter(session.tree.path.value, steps));
  const cut = last.receipt.value?.finish_reason === "length" && last.status.value === "done";
  return html`
    ${end && html`<p class=${`end ${last.status.value === "error" ? "end--bad" : ""}`}>${end}</p>`}
    ${cut && html`<p class="end">The answer reached the length limit.</p>`}
    ${first.receipt.value?.cut?.map((file) => html`<p key=${file.name} class="end">${partGiven(file)}</p>`)}
    <div class="message__foot">
      <${Siblings} model=${first} what="answer" />
      ${markdownOf(steps) && html`<${CopyAnswer} steps=${steps} />`}
      <${Regenerate} answer=${first} ended=${last.status.value} />
      ${!session.temporary.value &&
      html`<button
        type="button"
        class="action"
        aria-label="Branch from here"
        title="Go on from here in a chat of its own"
        disabled=${!connected.value}
        onClick=${() => client.fork(last.id)}
      >
        <${Icon} name="branch" />Branch
      </button>`}
      ${turn &&
      html`<button type="button" class="action" aria-expanded=${open.value} onClick=${() => (open.value = !open.value)}>
        <${Icon} name="receipt" />Details
      </button>`}
      ${writer.value && html`<span class="message__note" data-testid="writer">Written by <b>${shortName(writer.value)}</b></span>`}
      ${turn?.receipt.resumed ? html`<span class="message__note">The engine restarted; the answer went on.</span>` : null}
    </div>
    ${turn && open.value && html`<${Receipt} turn=${turn} />`}
  `;
}

/** @param {{answer: MessageModel, ended: string}} props */
function Regenerate({ answer, ended }) {
  const { connected, session, wishes } = useApp();
  const prompt = session.tree.all.value.find((message) => message.id === answer.parent.value);
  if (prompt?.role !== "user") return null;
  return html`<button
    type="button"
    class="action"
    title="Ask again; this answer is kept"
    disabled=${!connected.value || session.running.value !== null}
    onClick=${() => wishes.regenerate(prompt)}
  >
    <${Icon} name="retry" />${ended === "done" ? "Regenerate" : "Ask again"}
  </button>`;
}
