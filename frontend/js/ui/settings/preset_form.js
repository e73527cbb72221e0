/** @import { Preset, ToolRow } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useLayoutEffect, useMemo, useRef } from "../../lib.js";
import { readTools } from "../../net/settings_api.js";
import { PresetDraft } from "../../state/settings_preset.js";
import { useApp } from "../context.js";
import { CheckField, Choices, Form, Save, TextArea, TextField } from "./fields.js";
import { checkLength } from "./instructions.js";
import { Loaded, useListing } from "./parts.js";

/** @param {{preset: Preset | null, listing: Listing<Preset[]>, onEnd: (name?: string) => void}} props  preset: null for a new one */
export function PresetForm({ preset, listing, onEnd }) {
  const { announcer } = useApp();
  const draft = useMemo(() => new PresetDraft(preset), []);
  const { form } = draft;
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => element.current?.querySelector("input")?.focus(), []);
  const save = async () => {
    const done = await form.send(() => {
      checkLength("instructions", draft.instructions.value);
      return draft.save();
    });
    if (!done) return;
    announcer.say("The preset is saved");
    await listing.load();
    onEnd(draft.name.value.trim());
  };
  return html`<div ref=${element}>
    <${Form} form=${form} label=${preset ? `Preset ${preset.name}` : "New preset"} onSend=${save}>
      <${TextField} form=${form} name="name" label="Name" value=${draft.name} />
      <${TextArea} form=${form} name="instructions" label="Instructions" value=${draft.instructions} attributes=${{ rows: 4 }} />
      <${Choices}
        legend="Thinking"
        value=${draft.thinking}
        options=${[["auto", "As the model does"], ["on", "On"], ["off", "Off"]]}
      />
      <${Choices} legend="Tools" value=${draft.which} options=${[["usual", "Those that suit the model"], ["chosen", "These"]]} />
      ${draft.which.value === "chosen" && html`<${ToolChoice} draft=${draft} />`}
      <${CheckField}
        value=${draft.read_only}
        label="Nothing that asks"
        hint="Calls that would need your permission are blocked outright."
      />
      <fieldset>
        <legend class="field__label">Sampling <small>Empty means: the model’s own</small></legend>
        <div class="form__row form__row--numbers">
          ${draft.numbers.map(
            ({ name, label, text }) =>
              html`<${TextField} key=${name} form=${form} name=${name} label=${label} value=${text} attributes=${{ inputmode: "decimal", placeholder: "auto" }} />`,
          )}
        </div>
      </fieldset>
      <${Save} form=${form} label="Save preset" onCancel=${() => onEnd()} />
    <//>
  </div>`;
}

/** @param {{draft: PresetDraft}} props */
function ToolChoice({ draft }) {
  const listing = useListing(readTools);
  return html`<${Loaded} listing=${listing} what="The tools">
    ${(/** @type {ToolRow[]} */ tools) => html`<fieldset class="checks">
      <legend class="visually-hidden">Tools of the preset</legend>
      ${allNames(tools, draft.tools.value).map(
        (name) => html`<label key=${name} class="check">
          <input
            type="checkbox"
            checked=${draft.tools.value.includes(name)}
            onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => draft.choose(name, event.currentTarget.checked)}
          />
          <span><code>${name}</code></span>
        </label>`,
      )}
    </fieldset>`}
  <//>`;
}

/** Those that there are, and those that were chosen when there were others. @param {readonly ToolRow[]} tools @param {readonly string[]} chosen */
const allNames = (tools, chosen) => [...new Set([...tools.map(({ name }) => name), ...chosen])];
