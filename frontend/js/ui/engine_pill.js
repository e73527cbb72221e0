import { html } from "../lib.js";
import { engineWords } from "../text/engine_words.js";
import { thinkingWords } from "../text/chat_words.js";
import { useApp } from "./context.js";
import { EnginePanel } from "./engine_panel.js";
import { MODEL_PANEL } from "./focus.js";
import { Meter } from "./meter.js";

/** Which model answers and what the engine is doing, always in view; it opens the panel with the rest. */
export function EnginePill() {
  const { chatSettings, engine, router, session } = useApp();
  const words = engineWords(engine.current.value, engine.reachable.value);
  const chatting = router.view.value === "chat" && words.tone === "good";
  const thinking = chatting ? thinkingWords(session.model.value, chatSettings.current.value.thinking) : "";
  const detail = words.detail || thinking;
  return html`<button
      type="button"
      class=${`pill pill--${words.tone}`}
      popovertarget=${MODEL_PANEL}
      data-testid="engine-pill"
      data-phase=${engine.reachable.value ? engine.current.value?.engine.phase : "unreachable"}
      aria-label=${`Engine: ${[words.label, detail].filter(Boolean).join(" ")}`}
    >
      <span class="pill__dot"></span>
      <span class=${`pill__label ${words.short ? "pill__label--long" : ""}`}>${words.label}</span>
      ${words.short && html`<span class="pill__label pill__label--short">${words.short}</span>`}
      ${words.bytes && html`<${Meter} label="Loading" ...${words.bytes} />`}
      ${detail && html`${" "}<span class="pill__detail">${detail}</span>`}
    </button>
    <${EnginePanel} id=${MODEL_PANEL} />`;
}
