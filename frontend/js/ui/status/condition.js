/** @import { EnginePhase, Status } from "../../net/status_source.js" */
/** @import { StatusSampler } from "../../state/status_sampler.js" */

import { html } from "../../lib.js";
import { engineWords } from "../../text/engine_words.js";
import { atSecond } from "../../text/status_words.js";
import { useApp } from "../context.js";
import { Meter } from "../meter.js";

/** What the phases mean for who asks something now. @type {Partial<Record<EnginePhase, string>>} */
const MEANINGS = {
  starting: "Requests are refused for the moment, with a word of when to try again.",
  importing: "Requests are refused for the moment, with a word of when to try again.",
  preparing: "The model’s files are made ready; this happens once.",
  loading: "Requests are refused until the model is in memory.",
  warming: "The model is in memory and takes its first steps.",
  switching: "Requests wait for the new model.",
  idle: "Nobody has asked it for a while, so its memory was given back. The next message loads it.",
  restarting: "The engine ended and is started again. Answers that were under way go on where they were.",
  failed: "Nothing can be answered until that is put right and Fireside is started again.",
  stopping: "Answers under way are brought to an end.",
};

/** How things are, in a line or two. @param {{sampler: StatusSampler}} props */
export function Condition({ sampler }) {
  const { engine } = useApp();
  const status = engine.current.value;
  const words = engineWords(status, engine.reachable.value);
  const down = engine.reachable.value === false || sampler.failed.value;
  return html`<div class=${`condition condition--${down ? "bad" : words.tone}`} data-testid="condition">
    <span class="condition__dot"></span>
    <div>
      <div role="status">
        <h2>${down ? "Fireside does not answer" : titleOf(status, words.label)}</h2>
        <p>${down ? downWords(sampler.answered.value) : meaningOf(status)}</p>
      </div>
      ${!down && words.bytes && html`<${Meter} label="Loading" ...${words.bytes} />`}
      ${!down && words.detail && html`<p class="condition__detail">${words.detail}</p>`}
    </div>
  </div>`;
}

/** @param {Status | null} status @param {string} label */
function titleOf(status, label) {
  if (status?.engine.phase !== "ready") return label;
  return status.mode === "upstream" ? `${label} answers, on another server` : `${label} is ready`;
}

/** @param {Status | null} status */
function meaningOf(status) {
  if (!status) return "Asking Fireside how things are…";
  const { engine, mode } = status;
  if (engine.phase === "failed") return `${engine.error ?? engine.detail} ${MEANINGS.failed}`;
  if (engine.phase !== "ready") return MEANINGS[engine.phase] ?? engine.detail;
  if (mode === "upstream") return "Its rows, its memory and its cache are that server’s own, and not shown here.";
  return engine.restarts > 0
    ? `It had to be started again ${engine.restarts === 1 ? "once" : `${engine.restarts} times`} since Fireside runs.`
    : "Requests are served.";
}

/** @param {number} answered */
function downWords(answered) {
  return answered
    ? `What is below is as of ${atSecond(answered)}. It goes on by itself when Fireside is there again.`
    : "The figures come when it does.";
}
