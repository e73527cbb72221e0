/** @import { Signal } from "../../lib.js" */
/** @import { ArticleEdit } from "../../state/memory_edit.js" */

import { html, useId, useLayoutEffect, useRef } from "../../lib.js";
import { Icon } from "../icons.js";
import { ConflictBox } from "./conflict_box.js";

/**
 * A plain text editor for one article. Leaving it loses nothing: what is not saved is kept in the browser.
 *
 * @typedef {object} EditorProps
 * @property {ArticleEdit} edit
 * @property {string} title
 * @property {Signal<string>} [name]  of an article that has none yet, typed above its text
 * @property {(name: string) => unknown} onSaved
 * @property {() => void} onLeave
 */

/** @param {EditorProps} props */
export function Editor({ edit, title, name, onSaved, onLeave }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const nameField = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => {
    // From the top: a browser would put the cursor behind the last line, and scroll there.
    area.current?.setSelectionRange(0, 0);
    (name && !name.peek() ? nameField : area).current?.focus({ preventScroll: true });
  }, [edit]);
  const wanted = () => name?.peek().trim() ?? edit.name;
  const end = async (/** @type {Promise<string>} */ saving) => {
    const as = await saving;
    if (as) onSaved(as);
  };
  const save = () => {
    if (edit.busy.peek() || edit.conflict.peek()) return;
    if (wanted()) void end(edit.save(wanted()));
    else nameField.current?.focus();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") leaveBy(event, onLeave);
    else if ((event.ctrlKey || event.metaKey) && !event.altKey && event.code === "KeyS") leaveBy(event, save);
  };
  return html`<form
    class="writer"
    aria-label=${`Edit ${title}`}
    onKeyDown=${onKeyDown}
    onSubmit=${(/** @type {Event} */ event) => leaveBy(event, save)}
  >
    <header class="writer__head">
      <h2 dir="auto">${title}</h2>
      <button type="button" class="button" onClick=${onLeave}>${edit.changed.value ? "Leave" : "Done"}</button>
      <button
        type="submit"
        class="button button--go"
        aria-keyshortcuts="Control+S Meta+S"
        disabled=${edit.busy.value || !edit.changed.value || edit.conflict.value !== null}
      >
        Save
      </button>
      <span class="writer__state" role="status">${stateWords(edit)}</span>
    </header>
    ${name && html`<${NameField} name=${name} field=${nameField} />`}
    ${edit.error.value &&
    html`<p class="writer__error" role="alert"><${Icon} name="warning" /><span>${edit.error.value}</span></p>`}
    <${ConflictBox} edit=${edit} onOverwrite=${() => void end(edit.overwrite(wanted()))} />
    <textarea
      ref=${area}
      class="writer__text"
      aria-label=${`Text of ${title}, as Markdown`}
      dir="auto"
      spellcheck=${true}
      value=${edit.text}
      onInput=${() => edit.type(area.current?.value ?? "")}
    ></textarea>
  </form>`;
}

/** @param {Event} event @param {() => void} act */
function leaveBy(event, act) {
  event.preventDefault();
  act();
}

/** @param {ArticleEdit} edit */
function stateWords(edit) {
  if (edit.busy.value) return "Saving…";
  return edit.changed.value ? "Not saved yet; kept in this browser." : "Markdown. Link articles with [[Name]].";
}

/** @param {{name: Signal<string>, field: {current: HTMLInputElement | null}}} props */
function NameField({ name, field }) {
  const hint = useId();
  return html`<div class="writer__name">
    <label>
      <span>Name</span>
      <input
        ref=${field}
        type="text"
        required
        autocomplete="off"
        dir="auto"
        maxlength="200"
        aria-describedby=${hint}
        value=${name}
        onInput=${() => (name.value = field.current?.value ?? "")}
      />
    </label>
    <small id=${hint}>The file’s name. With slashes it lies in folders: <code>Cooking/Bread</code></small>
  </div>`;
}
