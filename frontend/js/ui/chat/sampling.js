/** @import { SamplingChoice } from "../../protocol.d.ts" */

import { html, useId, useLayoutEffect, useRef, useSignal } from "../../lib.js";
import { NUMBERS, numberIn } from "../../state/sampling.js";
import { SAMPLING_HINTS, autoWords } from "../../text/chat_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";

/** How this chat's words are drawn. An empty field is the model's own, which is shown in it. */
export function Sampling() {
  const { chatSettings } = useApp();
  const set = Object.values(chatSettings.sampling.value).some((value) => value != null);
  return html`<section class="panel__part" aria-label="Sampling">
    <div class="panel__row">
      <h3>Sampling in this chat</h3>
      <button
        type="button"
        class="action"
        aria-disabled=${!set}
        onClick=${() => set && chatSettings.change({ sampling: {} })}
      >
        <${Icon} name="undo" />All auto
      </button>
    </div>
    ${NUMBERS.map(({ name }) => html`<${NumberField} key=${name} name=${name} />`)}
  </section>`;
}

/** @param {{name: keyof SamplingChoice}} props */
function NumberField({ name }) {
  const { chatSettings, session } = useApp();
  const number = /** @type {NonNullable<ReturnType<typeof NUMBERS.find>>} */ (NUMBERS.find((one) => one.name === name));
  const id = useId();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const wrong = useSignal("");
  const value = chatSettings.sampling.value[name] ?? null;
  useLayoutEffect(() => {
    if (field.current) field.current.value = value === null ? "" : String(value);
    wrong.value = "";
  }, [value]);
  const take = () => {
    const { value: read, error } = numberIn(number, field.current?.value ?? "");
    wrong.value = error;
    if (!error && read !== value) chatSettings.draw(name, read);
  };
  const reset = () => {
    if (field.current) field.current.value = "";
    take();
    field.current?.focus();
  };
  return html`<div class="draw">
    <label class="draw__label" for=${id}>${number.label}</label>
    <input
      id=${id}
      ref=${field}
      class="input"
      inputmode=${number.whole ? "numeric" : "decimal"}
      autocomplete="off"
      placeholder=${autoWords(session.model.value, name)}
      aria-describedby=${`${id}-hint`}
      aria-invalid=${wrong.value ? "true" : undefined}
      title=${SAMPLING_HINTS[name]}
      onChange=${take}
    />
    ${value === null
      ? html`<span class="draw__space"></span>`
      : html`<button type="button" class="tool" aria-label=${`${number.label}: back to auto`} title="Back to auto" onClick=${reset}>
          <${Icon} name="undo" />
        </button>`}
    <p class=${wrong.value ? "field__error draw__note" : "visually-hidden"} id=${`${id}-hint`} role=${wrong.value ? "alert" : undefined}>
      ${wrong.value || SAMPLING_HINTS[name]}
    </p>
  </div>`;
}
