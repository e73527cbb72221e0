/** @import { Preset } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useLayoutEffect, useMemo, useRef, useSignal } from "../../lib.js";
import { putPreset } from "../../net/settings_api.js";
import { FieldError, FormState } from "../../state/settings_form.js";
import { useApp } from "../context.js";
import { Form, Save, TextField } from "../settings/fields.js";

const LONGEST_NAME = 60;

/** Gives this chat's settings a name. @param {{presets: readonly Preset[], listing: Listing<Preset[]>, onEnd: () => void}} props */
export function SaveAs({ presets, listing, onEnd }) {
  const { announcer, chatSettings } = useApp();
  const form = useMemo(() => new FormState(["name"]), []);
  const name = useSignal("");
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => box.current?.querySelector("input")?.focus(), []);
  const taken = presets.some((preset) => preset.name === name.value.trim());
  const save = async () => {
    const wanted = name.peek().trim();
    const done = await form.send(() => {
      if (!wanted) throw new FieldError("name", "Give the preset a name.");
      return putPreset(wanted, chatSettings.current.peek());
    });
    if (!done) return;
    chatSettings.change({ preset: wanted });
    announcer.say(`Saved the preset ${wanted}`);
    await listing.load();
    onEnd();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onEnd();
  };
  return html`<div class="panel__form" ref=${box} onKeyDown=${onKeyDown}>
    <${Form} form=${form} label="Save as a preset" onSend=${save}>
      <${TextField}
        form=${form}
        name="name"
        label="Name"
        value=${name}
        hint=${taken ? "There is a preset of this name; it is replaced." : ""}
        attributes=${{ maxlength: LONGEST_NAME }}
      />
      <${Save} form=${form} label=${taken ? "Replace" : "Save"} onCancel=${onEnd} />
    <//>
  </div>`;
}
