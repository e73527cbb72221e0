/** @import { Signal } from "../../lib.js" */
/** @import { FormState } from "../../state/settings_form.js" */

import { html, useEffect, useId, useRef } from "../../lib.js";
import { Icon } from "../icons.js";

/**
 * A form that is sent by Enter and by its button. The first wrong field gets the focus.
 *
 * @param {{form: FormState, label: string, onSend: () => unknown, children: unknown}} props
 */
export function Form({ form, label, onSend, children }) {
  const element = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    /** @type {HTMLElement | null | undefined} */ (element.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [form.errors.value]);
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    void onSend();
  };
  return html`<form class="form" ref=${element} aria-label=${label} noValidate onSubmit=${submit} onInput=${() => form.touch()}>
    ${children}
  </form>`;
}

/**
 * @typedef {object} FieldProps
 * @property {FormState} form
 * @property {string} name  as Fireside names it when it is wrong
 * @property {string} label
 * @property {string} [hint]
 *
 * @param {FieldProps & {control: (attributes: Record<string, unknown>) => unknown}} props
 */
export function Field({ form, name, label, hint = "", control }) {
  const id = useId();
  const error = form.errors.value[name];
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return html`<div class="field">
    <label class="field__label" for=${id}>${label}</label>
    ${control({ id, name, "aria-describedby": described || undefined, "aria-invalid": error ? "true" : undefined })}
    ${hint && html`<p class="field__hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="field__error" id=${`${id}-error`}><${Icon} name="warning" />${error}</p>`}
  </div>`;
}

/** @param {FieldProps & {value: Signal<string>, attributes?: Record<string, unknown>}} props */
export function TextField({ value, attributes, ...field }) {
  return html`<${Field}
    ...${field}
    control=${(/** @type {Record<string, unknown>} */ common) =>
      html`<input class="input" autocomplete="off" spellcheck=${false} dir="auto" ...${attributes} ...${common} value=${value.value} onInput=${into(value)} />`}
  />`;
}

/** Enter makes a new line here, so Ctrl or ⌘ with it sends. @param {FieldProps & {value: Signal<string>, attributes?: Record<string, unknown>}} props */
export function TextArea({ value, attributes, ...field }) {
  const onKeyDown = (/** @type {KeyboardEvent & {currentTarget: HTMLTextAreaElement}} */ event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return html`<${Field}
    ...${field}
    control=${(/** @type {Record<string, unknown>} */ common) =>
      html`<textarea class="input" dir="auto" ...${attributes} ...${common} value=${value.value} onInput=${into(value)} onKeyDown=${onKeyDown}></textarea>`}
  />`;
}

/** @param {FieldProps & {value: Signal<string>, options: readonly (readonly [value: string, label: string])[]}} props */
export function SelectField({ value, options, ...field }) {
  return html`<${Field}
    ...${field}
    control=${(/** @type {Record<string, unknown>} */ common) =>
      html`<select class="input" ...${common} value=${value.value} onChange=${into(value)}>
        ${options.map(([option, label]) => html`<option key=${option} value=${option} selected=${option === value.value}>${label}</option>`)}
      </select>`}
  />`;
}

/** @param {{value: Signal<boolean>, label: string, hint?: string}} props */
export function CheckField({ value, label, hint = "" }) {
  const id = useId();
  return html`<label class="check">
    <input
      type="checkbox"
      checked=${value.value}
      aria-describedby=${hint ? id : undefined}
      onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => (value.value = event.currentTarget.checked)}
    />
    <span>${label}${hint && html`<small id=${id}>${hint}</small>`}</span>
  </label>`;
}

/**
 * One of a few, all in view.
 *
 * @param {{legend: string, hidden?: boolean, value: Signal<string>, options: readonly (readonly [value: string, label: string])[]}} props
 */
export function Choices({ legend, hidden = false, value, options }) {
  const name = useId();
  return html`<fieldset class="choices">
    <legend class=${hidden ? "visually-hidden" : "field__label"}>${legend}</legend>
    <div class="choices__row">
      ${options.map(
        ([option, label]) => html`<label key=${option} class="choices__one">
          <input
            type="radio"
            name=${name}
            class="visually-hidden"
            checked=${option === value.value}
            onChange=${() => (value.value = option)}
          />
          <span>${label}</span>
        </label>`,
      )}
    </div>
  </fieldset>`;
}

/** @param {{form: FormState, label: string, saved?: string, onCancel?: () => void}} props */
export function Save({ form, label, saved = "Saved", onCancel }) {
  const { value: saving } = form.saving;
  return html`<div class="save">
    <button type="submit" class="button button--go" aria-disabled=${saving === "saving"}>${label}</button>
    ${onCancel && html`<button type="button" class="button" onClick=${onCancel}>Cancel</button>`}
    <span class="save__state" role="status">
      ${saving === "saving" && "Saving…"}${saving === "saved" && html`<${Icon} name="check" />${saved}`}
    </span>
    ${form.error.value && html`<p class="field__error" role="alert"><${Icon} name="warning" />${form.error.value}</p>`}
  </div>`;
}

/** @param {Signal<string>} value */
function into(value) {
  return (/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => {
    value.value = event.currentTarget.value;
  };
}
