import { html, useComputed, useId } from "../lib.js";
import { contextOf } from "../state/fullness.js";
import { contextWords } from "../text/context_words.js";
import { useApp } from "./context.js";
import { Meter } from "./meter.js";

/** How full the model's context window is, and the way to make room. */
export function ContextMeter() {
  const { session } = useApp();
  const panel = useId();
  const full = useComputed(() => contextOf(session));
  if (!full.value) return null;
  const { brief, detail } = contextWords(full.value);
  const { percent } = full.value;
  return html`<button
      type="button"
      class=${`pill pill--context ${percent !== null && percent >= 80 ? "pill--full" : ""}`}
      popovertarget=${panel}
      data-testid="context"
      aria-label=${`Context: ${brief}`}
    >
      ${percent !== null && html`<${Meter} label="Context used" done=${percent} total=${100} />`}
      <span class="pill__detail">${brief}</span>
    </button>
    <div id=${panel} popover="auto" class="panel" role="dialog" aria-label="Context">
      <h2>Context</h2>
      <p>${detail}</p>
      <${CompactButton} />
    </div>`;
}

function CompactButton() {
  const { connected, session, wishes } = useApp();
  const busy = session.compacting.value;
  return html`<p>A summary can stand for the older messages, for the model only. They stay here, and you can undo it.</p>
    <button
      type="button"
      class="button"
      disabled=${!connected.value || busy || session.running.value !== null || session.messages.value.length < 2}
      onClick=${() => wishes.compact()}
    >
      ${busy ? "Summarizing…" : "Summarize older messages"}
    </button>`;
}
