import { html } from "../../lib.js";
import { switchWords } from "../../text/models_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { Meter } from "../meter.js";
import { Smaller } from "./smaller.js";

/** How far the change to another model is, or how it ended. Its phases are announced elsewhere. */
export function SwitchProgress() {
  const { engine, modelSwitch } = useApp();
  const change = modelSwitch.shown.value;
  const present = engine.current.value?.engine;
  const refused = modelSwitch.refused.value;
  if (refused) return html`<${Refused} words=${refused} />`;
  if (!change || !present) return null;
  const { error, name, state } = change;
  const ended = state === "done" || state === "failed";
  const loading = state !== "draining" && present.bytes_total > 0;
  return html`<div class=${`swap swap--${state}`} data-testid="switch" data-state=${state}>
    <p class="swap__head">
      ${state === "done" && html`<${Icon} name="check" />`}
      ${(state === "failed" || state === "returning") && html`<${Icon} name="warning" />`}
      <span><b>${switchWords(change, present)}</b>${!ended && state !== "returning" && html`<span class="swap__to">${name}</span>`}</span>
    </p>
    ${error && html`<p class="swap__error">${error}</p>`}
    ${!ended &&
    (loading
      ? html`<${Meter} label="Loading" done=${present.bytes_done} total=${present.bytes_total} />`
      : html`<progress class="meter meter--unknown" aria-label="Changing the model"></progress>`)}
    ${ended && html`<${Dismiss} />`}
  </div>`;
}

/** @param {{words: string}} props */
function Refused({ words }) {
  const { modelSwitch } = useApp();
  return html`<div class="swap swap--failed" role="alert" data-testid="switch" data-state="refused">
    <p class="swap__head">
      <${Icon} name="warning" /><span>${words}${modelSwitch.tooLarge.value && html`${" "}<${Smaller} />`}</span>
    </p>
    <${Dismiss} />
  </div>`;
}

function Dismiss() {
  const { modelSwitch } = useApp();
  return html`<button type="button" class="tool swap__close" aria-label="Dismiss" onClick=${() => modelSwitch.dismiss()}>
    <${Icon} name="close" />
  </button>`;
}
