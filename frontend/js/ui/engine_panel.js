/** @import { Status } from "../net/status_source.js" */
/** @import { Receipt } from "../protocol.d.ts" */

import { html } from "../lib.js";
import { lastAnswerWords } from "../text/chat_words.js";
import { engineWords } from "../text/engine_words.js";
import { count } from "../text/format.js";
import { useApp } from "./context.js";
import { lazy } from "./lazy.js";
import { usePopover } from "./popover.js";

const ModelPicker = lazy(async () => (await import("./models/picker.js")).ModelPicker, { meanwhile: null });
const Sampling = lazy(async () => (await import("./chat/sampling.js")).Sampling, { meanwhile: null });
const Thinking = lazy(async () => (await import("./chat/thinking.js")).Thinking, { meanwhile: null });

/** @param {{id: string}} props */
export function EnginePanel({ id }) {
  const { engine, router } = useApp();
  const { open, watch } = usePopover();
  const words = engineWords(engine.current.value, engine.reachable.value);
  return html`<div id=${id} popover="auto" class="panel panel--tall panel--wide" role="dialog" aria-label="Model" onBeforeToggle=${watch}>
    <h2>${words.label}</h2>
    <${About} />
    ${open.value && engine.current.value?.mode === "core" && html`<${ModelPicker} />`}
    <${Facts} />
    ${open.value && router.view.value === "chat" && html`<${Thinking} /><${Sampling} />`}
  </div>`;
}

function About() {
  const { engine } = useApp();
  const status = engine.reachable.value === false ? null : engine.current.value;
  const note = status?.engine.phase === "ready" && status.engine.model?.note;
  return html`${status && html`<p>${status.engine.detail}</p>`}
    ${note && html`<p>${note}</p>`}`;
}

function Facts() {
  const { engine, session } = useApp();
  const status = engine.reachable.value === false ? null : engine.current.value;
  const receipt = session.messages.value.findLast((message) => message.receipt.value)?.receipt.value;
  return html`<dl class="facts">
    ${(status ? facts(status, receipt) : []).map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
  </dl>`;
}

/**
 * @param {Status} status
 * @param {Receipt | null | undefined} receipt  of the last answer
 * @returns {[string, string][]}
 */
function facts({ engine, mode, version }, receipt) {
  const { model } = engine;
  /** @type {[string, string | null | undefined | false][]} */
  const lines = [
    ["Model", engine.phase !== "ready" && model?.name],
    ["Context", model?.context_window && `${count(model.context_window)} tokens`],
    ["Loaded", engineWords({ engine }, true).detail],
    ["Answering", engine.phase === "ready" && count(engine.rows)],
    ["Queued", engine.queued > 0 && count(engine.queued)],
    ["Last answer", lastAnswerWords(receipt)],
    ["Restarts", engine.restarts > 0 && count(engine.restarts)],
    ["Error", engine.error],
    ["Runs on", mode === "upstream" ? "another server" : "this machine"],
    ["Fireside", version],
  ].map(([term, value]) => [String(term), value ? String(value) : null]);
  return lines.filter(/** @returns {line is [string, string]} */ (line) => Boolean(line[1]));
}
