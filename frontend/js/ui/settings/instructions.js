import { html, useEffect, useMemo, useSignal } from "../../lib.js";
import { Shelf } from "../../dom/storage.js";
import { putInstructions, readInstructions } from "../../net/settings_api.js";
import { FieldError, FormState } from "../../state/settings_form.js";
import { count } from "../../text/format.js";
import { Form, Save, TextArea } from "./fields.js";
import { Loaded, useListing } from "./parts.js";

export const LONGEST = 100_000;

/** What was typed and not saved yet, until this window is closed. */
const draft = () => new Shelf("sessionStorage", "instructions");

export function Instructions() {
  const listing = useListing(readInstructions);
  return html`<p class="set__lead">
      What the model is told in every chat, before anything else: how to address you, in which language to answer, what to
      leave out. It counts for the next message, also in chats that there are already.
    </p>
    <${Loaded} listing=${listing} what="The instructions">
      ${(/** @type {string} */ kept) => html`<${Editor} kept=${kept} />`}
    <//>`;
}

/** @param {{kept: string}} props */
function Editor({ kept }) {
  const shelf = useMemo(draft, []);
  const unsaved = useMemo(() => shelf.get(), []);
  const text = useSignal(unsaved || kept);
  const form = useMemo(() => new FormState(["instructions"]), []);
  const { value } = text;
  useEffect(() => shelf.set(form.saving.peek() === "saved" || value === kept ? "" : value), [value]);
  const save = async () => {
    const sent = text.value;
    const done = await form.send(() => {
      checkLength("instructions", sent);
      return putInstructions(sent);
    });
    if (done && text.value === sent) shelf.set("");
  };
  return html`<${Form} form=${form} label="Instructions for all chats" onSend=${save}>
    <${TextArea}
      form=${form}
      name="instructions"
      label="Instructions for all chats"
      hint=${`${count(value.length)} of ${count(LONGEST)} characters. Ctrl or ⌘ with Enter saves.`}
      value=${text}
      attributes=${{ rows: 9, placeholder: "Such as: Answer in short sentences. I am a nurse; explain software as if I had never seen it." }}
    />
    ${unsaved && unsaved !== kept && form.saving.value === "idle" && html`<p class="row__note">This was not saved yet.</p>`}
    <${Save} form=${form} label="Save" />
  <//>`;
}

/** @param {string} field @param {string} text */
export function checkLength(field, text) {
  if (text.length > LONGEST) {
    throw new FieldError(field, `At most ${count(LONGEST)} characters; these are ${count(text.length)}.`);
  }
}
