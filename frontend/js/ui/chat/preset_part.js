/** @import { Preset } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useId, useSignal } from "../../lib.js";
import { deletePreset, putPreset, readPresets } from "../../net/settings_api.js";
import { presetWords } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { Confirm, Loaded, useListing } from "../settings/parts.js";
import { SaveAs } from "./save_preset.js";

/** The saved settings that this chat takes, and those of this chat to be saved. */
export function PresetPart() {
  const listing = useListing(readPresets);
  return html`<section class="panel__part" aria-label="Preset">
    <${Loaded} listing=${listing} what="The presets">
      ${(/** @type {Preset[]} */ presets) => html`<${Presets} presets=${presets} listing=${listing} />`}
    <//>
  </section>`;
}

/** @param {{presets: readonly Preset[], listing: Listing<Preset[]>}} props */
function Presets({ presets, listing }) {
  const { chatSettings } = useApp();
  const id = useId();
  const naming = useSignal(false);
  const { preset: name } = chatSettings.current.value;
  const applied = presets.find((preset) => preset.name === name);
  const choose = (/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) =>
    chatSettings.apply(presets.find((preset) => preset.name === event.currentTarget.value) ?? null);
  return html`<label class="field__label" for=${id}>Preset</label>
    <select id=${id} class="input" value=${applied?.name ?? ""} onChange=${choose}>
      <option value="">None: the usual settings</option>
      ${presets.map((preset) => html`<option key=${preset.name} value=${preset.name} selected=${preset === applied}>${preset.name}</option>`)}
    </select>
    ${applied && html`<${Applied} preset=${applied} listing=${listing} />`}
    ${naming.value
      ? html`<${SaveAs} presets=${presets} listing=${listing} onEnd=${() => (naming.value = false)} />`
      : html`<div class="panel__row panel__row--start">
          <button type="button" class="button" disabled=${!chatSettings.changed.value} onClick=${() => (naming.value = true)}>
            Save as a preset…
          </button>
        </div>`}`;
}

/** @param {{preset: Preset, listing: Listing<Preset[]>}} props */
function Applied({ preset, listing }) {
  const { announcer, chatSettings } = useApp();
  const { name } = preset;
  const differs = chatSettings.differsFrom(preset);
  const update = async () => {
    if (await listing.change(() => putPreset(name, chatSettings.current.peek()))) announcer.say(`Updated the preset ${name}`);
  };
  const remove = async () => {
    if (!(await listing.change(() => deletePreset(name)))) return;
    chatSettings.change({ preset: null });
    announcer.say(`Deleted the preset ${name}`);
  };
  return html`<p class="field__hint">
      ${differs ? "This chat has other settings by now than the preset." : `${presetWords(preset.settings)}.`}
    </p>
    <div class="panel__row panel__row--start">
      ${differs &&
      html`<button type="button" class="button" onClick=${update}>Update the preset</button>
        <button type="button" class="button" onClick=${() => chatSettings.apply(preset)}>Back to it</button>`}
      <${Confirm} label="Delete" about=${`preset ${name}`} question="Delete this preset?" yes="Delete" onYes=${remove} />
    </div>`;
}
