/** @import { MessageModel } from "../state/message.js" */

import { html, useEffect, useRef } from "../lib.js";
import { plainText } from "../dom/plain_text.js";
import { answerEnd } from "../text/message_words.js";
import { AnswerFoot } from "./answer_foot.js";
import { useApp } from "./context.js";
import { Markdown } from "./markdown.js";
import { Reasoning } from "./reasoning.js";
import { ToolCard } from "./tool_card.js";
import { TurnProgress } from "./turn_progress.js";

/** A turn's answers, one for each step, as one. @param {{steps: readonly MessageModel[]}} props */
export function Answer({ steps }) {
  const last = /** @type {MessageModel} */ (steps.at(-1));
  const running = last.status.value === "running";
  useTurnAnnouncements(running, answerEnd(last.status.value, last.error.value));
  return html`<article
    class=${`message message--answer ${running ? "message--running" : ""}`}
    aria-label="Fireside"
    aria-busy=${running}
    data-status=${last.status}
    data-message-id=${last.id}
  >
    ${steps.map((step) => html`<${Step} key=${step.id} model=${step} />`)}
    ${running ? html`<${TurnProgress} model=${last} />` : html`<${AnswerFoot} steps=${steps} />`}
  </article>`;
}

/** @param {{model: MessageModel}} props */
function Step({ model }) {
  const { announcer } = useApp();
  const speak = (/** @type {Element[]} */ blocks) => blocks.forEach((block) => announcer.say(spoken(block)));
  const tools = model.tools.value;
  const live = model.status.value === "running" && tools.length === 0;
  return html`<div class=${`step ${live ? "step--live" : ""}`} data-step-id=${model.id}>
    <${Reasoning} model=${model} />
    <${Markdown} model=${model} onFinished=${speak} />
    ${tools.map((tool) => html`<${ToolCard} key=${tool.id} model=${tool} />`)}
  </div>`;
}

/** @param {Element} block */
function spoken(block) {
  return block.querySelector(":scope > .code") ? "A code block." : plainText(block);
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
