/** @import { LocalModel } from "../../net/models_api.js" */

import { html, useId, useLayoutEffect, useRef, useSignal } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { matches } from "../../text/palette_words.js";
import { obstacle } from "../../text/models_words.js";
import { useApp } from "../context.js";
import { listKeys } from "../list_keys.js";
import { Loaded } from "../settings/parts.js";
import { useLibrary, useServed } from "./library.js";
import { PickOption } from "./pick_option.js";
import { SwitchProgress } from "./switch_progress.js";

/** The models that can chat here, to serve another one. */
export function ModelPicker() {
  const library = useLibrary();
  const served = useServed();
  return html`<section class="panel__part" aria-labelledby="pick-model">
    <div class="panel__row">
      <h3 id="pick-model">Switch model</h3>
      <a class="panel__link" href=${placeHref("models", "here")}>All models</a>
    </div>
    <${SwitchProgress} />
    <${Loaded} listing=${library} what="The models on this machine">
      ${(/** @type {LocalModel[]} */ models) => html`<${Chooser} models=${arranged(models, served)} served=${served} />`}
    <//>
  </section>`;
}

/** Those that could answer: the served one, then what fits, then the rest. @param {LocalModel[]} models @param {string} served */
function arranged(models, served) {
  const rank = (/** @type {LocalModel} */ model) => (model.repo_id === served ? 0 : obstacle(model) ? 2 : 1);
  return models.filter(({ kind, usable }) => kind === "chat" && usable).sort((one, other) => rank(one) - rank(other));
}

/** @param {{models: LocalModel[], served: string}} props */
function Chooser({ models, served }) {
  if (models.every(({ repo_id }) => repo_id === served)) {
    return html`<p>No other chat model is on this machine. <a class="panel__link" href=${placeHref("models", "find")}>Find one</a></p>`;
  }
  return html`<${List} models=${models} served=${served} />`;
}

/** @param {{models: LocalModel[], served: string}} props */
function List({ models, served }) {
  const { modelSwitch } = useApp();
  const list = useId();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const typed = useSignal("");
  const active = useSignal("");
  const shown = models.filter(({ repo_id }) => matches(repo_id, typed.value.trim()));
  const at = Math.max(0, shown.findIndex(({ repo_id }) => repo_id === active.value));
  const chosen = shown[at];
  const optionId = (/** @type {LocalModel} */ model) => `${list}-${encodeURIComponent(model.repo_id)}`;
  useLayoutEffect(() => {
    // Unasked, an on-screen keyboard would cover the list.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  useLayoutEffect(() => {
    if (chosen) document.getElementById(optionId(chosen))?.scrollIntoView({ block: "nearest" });
  }, [chosen?.repo_id]);
  const take = (/** @type {LocalModel | undefined} */ model) => {
    if (!model || modelSwitch.busy.peek() || model.repo_id === served || obstacle(model)) return;
    void modelSwitch.choose(model.repo_id);
  };
  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowDown: () => move((at + 1) % shown.length),
    ArrowUp: () => move((at + shown.length - 1) % shown.length),
    PageDown: () => move(shown.length - 1),
    PageUp: () => move(0),
    Enter: () => take(chosen),
  };
  const move = (/** @type {number} */ to) => (active.value = shown[to]?.repo_id ?? "");
  const onKeyDown = listKeys(keys, shown.length > 0);
  const type = (/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ { currentTarget }) => {
    typed.value = currentTarget.value;
    active.value = "";
  };
  return html`<input
      ref=${field}
      class="input"
      type="text"
      role="combobox"
      aria-label="Model to switch to"
      aria-expanded="true"
      aria-controls=${list}
      aria-autocomplete="list"
      aria-activedescendant=${chosen && optionId(chosen)}
      placeholder="Type to filter"
      autocomplete="off"
      autocapitalize="off"
      spellcheck=${false}
      enterkeyhint="go"
      value=${typed.value}
      onInput=${type}
      onKeyDown=${onKeyDown}
    />
    <div class="picks" id=${list} role="listbox" aria-label="Models on this machine" aria-busy=${modelSwitch.busy.value}>
      ${shown.map(
        (model) => html`<${PickOption}
          key=${model.repo_id}
          id=${optionId(model)}
          model=${model}
          served=${model.repo_id === served}
          active=${model === chosen}
          waiting=${modelSwitch.busy.value}
          onTake=${() => take(model)}
        />`,
      )}
    </div>
    <p class="field__hint" role="status">${shown.length === 0 ? `No model here has “${typed.value.trim()}” in its name.` : ""}</p>`;
}
