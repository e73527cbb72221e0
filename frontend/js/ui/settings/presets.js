/** @import { Preset } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useSignal } from "../../lib.js";
import { deletePreset, readPresets } from "../../net/settings_api.js";
import { presetWords } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { Confirm, Empty, Loaded, focusIfLost, opener, useListing } from "./parts.js";
import { PresetForm } from "./preset_form.js";

/** The name under which a new preset is edited: none can have it. */
const FRESH = "";

export function Presets() {
  const listing = useListing(readPresets);
  const editing = useSignal(/** @type {string | null} */ (null));
  const end = (/** @type {string | null} */ name = editing.value) => {
    editing.value = null;
    focusIfLost(() => opener(name));
  };
  return html`<p class="set__lead">Instructions, tools and sampling under a name, to be chosen for a chat.</p>
    <${Loaded} listing=${listing} what="The presets">
      ${(/** @type {Preset[]} */ presets) => html`
        ${presets.length === 0 && editing.value !== FRESH && html`<${Empty} icon="sliders">There are no presets yet.<//>`}
        <ul class="rows" aria-label="Presets">
          ${presets.map((preset) =>
            editing.value === preset.name
              ? html`<li key=${preset.name} class="row row--open"><${PresetForm} preset=${preset} listing=${listing} onEnd=${end} /></li>`
              : html`<${PresetRow} key=${preset.name} preset=${preset} listing=${listing} onEdit=${() => (editing.value = preset.name)} />`,
          )}
        </ul>
        ${editing.value === FRESH
          ? html`<div class="row row--open"><${PresetForm} preset=${null} listing=${listing} onEnd=${end} /></div>`
          : html`<button type="button" class="button add" onClick=${() => (editing.value = FRESH)}><${Icon} name="plus" />New preset</button>`}
      `}
    <//>`;
}

/** @param {{preset: Preset, listing: Listing<Preset[]>, onEdit: () => void}} props */
function PresetRow({ preset: { name, settings }, listing, onEdit }) {
  const { announcer } = useApp();
  const remove = async () => {
    if (await listing.change(() => deletePreset(name))) announcer.say(`Deleted the preset ${name}`);
  };
  return html`<li class="row" data-testid="preset">
    <div class="row__text">
      <p><b dir="auto">${name}</b></p>
      <p class="row__note">${presetWords(settings)}</p>
    </div>
    <div class="row__acts">
      <button type="button" class="button" aria-label=${`Edit: ${name}`} onClick=${onEdit}>Edit</button>
      <${Confirm} label="Delete" about=${name} question="Delete this preset?" yes="Delete" onYes=${remove} />
    </div>
  </li>`;
}
