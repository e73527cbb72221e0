/** @import { MessageModel } from "../state/message.js" */
/** @import { Progress } from "../protocol.d.ts" */

import { html } from "../lib.js";
import { engineWords } from "../text/engine_words.js";
import { count } from "../text/format.js";
import { waitingFor } from "../text/message_words.js";
import { useApp } from "./context.js";
import { Meter } from "./meter.js";

/** What a running answer waits for; nothing while its text flows. @param {{model: MessageModel}} props */
export function TurnProgress({ model }) {
  const { connected, engine, session } = useApp();
  model.version.value;
  const progress = model.progress.value;
  if (!connected.value) return html`<${Line} phase="disconnected" text="Waiting for Fireside to come back" />`;
  if (session.stopping.value) return html`<${Line} phase="stopping" text="Stopping" />`;
  // Text, reasoning and tools show by themselves that something happens.
  const shows = model.blocks.length > 0 || model.reasoning.value !== "" || model.tools.value.length > 0;
  if (!progress && shows) return null;
  if ((!progress || progress.phase === "waiting") && engine.current.value?.engine.phase === "switching") {
    return html`<${Line} phase="switching" text="Another model is being started. It answers as soon as it is ready."><${Loading} /><//>`;
  }
  return html`<${Line} phase=${progress?.phase ?? "waiting"} text=${waitingFor(progress)}>
    ${progress?.phase === "prefill" && html`<${Prefill} progress=${progress} />`}
    ${progress?.phase === "loading" && html`<${Loading} />`}
  <//>`;
}

/** @param {{phase: string, text: string, children?: unknown}} props */
function Line({ phase, text, children }) {
  return html`<div class="turn" data-testid="turn-progress" data-phase=${phase}>
    <span class="turn__ember"></span><span>${text}</span>${children}
  </div>`;
}

/** @param {{progress: Progress}} props */
function Prefill({ progress: { prefill_done, prefill_total } }) {
  if (!prefill_total) return null;
  const done = prefill_done ?? 0;
  return html`<span class="turn__measure">
    <${Meter} label="Reading the conversation" done=${done} total=${prefill_total} />
    ${count(done)} of ${count(prefill_total)} tokens
  </span>`;
}

function Loading() {
  const { engine } = useApp();
  const { bytes, detail } = engineWords(engine.current.value, engine.reachable.value);
  return html`<span class="turn__measure">
    ${bytes && html`<${Meter} label="Loading the model" ...${bytes} />`}${detail}
  </span>`;
}
