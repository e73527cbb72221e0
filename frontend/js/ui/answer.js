/** @import { MessageModel } from "../state/message.js" */

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { answerEnd } from "../text/message_words.js";
import { useApp } from "./context.js";
import { CopyButton } from "./copy_button.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";
import { Receipt } from "./receipt.js";
import { TurnProgress } from "./turn_progress.js";

/** @param {{model: MessageModel, last: boolean}} props */
export function Answer({ model, last }) {
  const { announcer } = useApp();
  const running = model.status.value === "running";
  useTurnAnnouncements(running, answerEnd(model.status.value, model.error.value));
  const speak = (/** @type {Element[]} */ blocks) => blocks.forEach((block) => announcer.say(spoken(block)));
  return html`<article
    class=${`message message--answer ${running ? "message--running" : ""}`}
    aria-label="Fireside"
    aria-busy=${running}
    data-status=${model.status}
    data-message-id=${model.id}
  >
    <${Markdown} model=${model} onFinished=${speak} />
    ${running ? html`<${TurnProgress} model=${model} />` : html`<${Ended} model=${model} last=${last} />`}
  </article>`;
}

/** @param {Element} block */
function spoken(block) {
  return block.querySelector(":scope > .code") ? "A code block." : (block.textContent ?? "");
}

/**
 * @param {boolean} running
 * @param {string} end
 */
function useTurnAnnouncements(running, end) {
  const { announcer } = useApp();
  const wasRunning = useRef(false);
  useEffect(() => {
    if (running) announcer.say("Fireside is answering.");
    else if (wasRunning.current) announcer.say(end || "The answer is complete.");
    wasRunning.current = running;
  }, [running]);
}

/** What follows an answer that does not grow any more. @param {{model: MessageModel, last: boolean}} props */
function Ended({ model, last }) {
  const open = useSignal(false);
  const receipt = model.receipt.value;
  const end = answerEnd(model.status.value, model.error.value);
  const cut = receipt?.finish_reason === "length" && model.status.value === "done";
  return html`
    ${end && html`<p class=${`end ${model.status.value === "error" ? "end--bad" : ""}`}>${end}</p>`}
    ${cut && html`<p class="end">The answer reached the length limit.</p>`}
    <div class="message__foot">
      ${model.text && html`<${CopyButton} text=${() => model.text} />`}
      ${last && model.status.value !== "done" && html`<${AskAgain} model=${model} />`}
      ${receipt &&
      html`<button type="button" class="action" aria-expanded=${open.value} onClick=${() => (open.value = !open.value)}>
        <${Icon} name="receipt" />Details
      </button>`}
      ${receipt?.resumed ? html`<span class="message__note">The engine restarted; the answer went on.</span>` : null}
    </div>
    ${receipt && open.value && html`<${Receipt} receipt=${receipt} />`}
  `;
}

/** @param {{model: MessageModel}} props */
function AskAgain({ model }) {
  const { client, session } = useApp();
  const messages = session.messages.value;
  const prompt = messages.slice(0, messages.indexOf(model)).findLast((message) => message.role === "user");
  if (!prompt) return null;
  return html`<button type="button" class="action" onClick=${() => client.ask(prompt.text)}>
    <${Icon} name="retry" />Ask again
  </button>`;
}
