/** @import { Status } from "../net/status_source.js" */

import { html } from "../lib.js";
import { engineWords } from "../text/engine_words.js";
import { count } from "../text/format.js";
import { useApp } from "./context.js";

/** @param {{id: string}} props */
export function EnginePanel({ id }) {
  const { engine } = useApp();
  const status = engine.reachable.value === false ? null : engine.current.value;
  const words = engineWords(engine.current.value, engine.reachable.value);
  return html`<div id=${id} popover="auto" class="panel" role="dialog" aria-label="Engine">
    <h2>${words.tone === "good" ? "Ready" : words.label}</h2>
    ${status && html`<p>${status.engine.detail}</p>`}
    <dl class="facts">
      ${(status ? facts(status) : []).map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
    </dl>
  </div>`;
}

/**
 * @param {Status} status
 * @returns {[string, string][]}
 */
function facts({ engine, mode, version }) {
  const { model } = engine;
  /** @type {[string, string | null | undefined | false][]} */
  const lines = [
    ["Model", model?.name],
    ["Context", model?.context_window && `${count(model.context_window)} tokens`],
    ["Loaded", engineWords({ engine, mode, version, epoch: "" }, true).detail],
    ["Answering", engine.phase === "ready" && count(engine.rows)],
    ["Queued", engine.queued > 0 && count(engine.queued)],
    ["Restarts", engine.restarts > 0 && count(engine.restarts)],
    ["Error", engine.error],
    ["Runs on", mode === "upstream" ? "another server" : "this machine"],
    ["Fireside", version],
  ].map(([term, value]) => [String(term), value ? String(value) : null]);
  return lines.filter(/** @returns {line is [string, string]} */ (line) => Boolean(line[1]));
}
