import { html, useId } from "../lib.js";
import { engineWords } from "../text/engine_words.js";
import { useApp } from "./context.js";
import { EnginePanel } from "./engine_panel.js";
import { Meter } from "./meter.js";

/** What the engine is doing, always in view; it opens the panel with the rest. */
export function EnginePill() {
  const { engine } = useApp();
  const panel = useId();
  const words = engineWords(engine.current.value, engine.reachable.value);
  return html`<button
      type="button"
      class=${`pill pill--${words.tone}`}
      popovertarget=${panel}
      data-testid="engine-pill"
      data-phase=${engine.reachable.value ? engine.current.value?.engine.phase : "unreachable"}
      aria-label=${`Engine: ${[words.label, words.detail].filter(Boolean).join(", ")}`}
    >
      <span class="pill__dot"></span>
      <span class="pill__label">${words.label}</span>
      ${words.bytes && html`<${Meter} label="Loading" ...${words.bytes} />`}
      ${words.detail && html`<span class="pill__detail">${words.detail}</span>`}
    </button>
    <${EnginePanel} id=${panel} />`;
}
