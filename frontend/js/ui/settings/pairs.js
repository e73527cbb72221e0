/** @import { Pairs } from "../../state/settings_mcp.js" */
/** @import { FormState } from "../../state/settings_form.js" */
/** @import { Signal } from "../../lib.js" */

import { html, useId, useLayoutEffect, useRef } from "../../lib.js";
import { MASK } from "../../state/settings_mcp.js";
import { Icon } from "../icons.js";

/**
 * @typedef {object} PairsProps
 * @property {FormState} form
 * @property {string} name  as Fireside names it when it is wrong
 * @property {Pairs} pairs
 * @property {string} legend
 * @property {string} one  one of them, such as "Argument"
 * @property {string} [hint]
 * @property {boolean} [named]  whether each has a name beside its value
 */

/** Lines that can be added and taken away: arguments, or names with secret values. @param {PairsProps} props */
export function PairsField({ form, name, pairs, legend, one, hint = "", named = true }) {
  const id = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const added = useRef(false);
  const lines = pairs.lines.value;
  const error = form.errors.value[name];
  useLayoutEffect(() => {
    if (added.current) /** @type {HTMLElement | null | undefined} */ (list.current?.querySelector("li:last-child input"))?.focus();
    added.current = false;
  }, [lines.length]);
  const add = () => {
    added.current = true;
    pairs.add();
  };
  return html`<fieldset aria-describedby=${error ? id : undefined}>
    <legend class="field__label">${legend}${hint && html` <small>${hint}</small>`}</legend>
    <ul class="pairs" ref=${list}>
      ${lines.map((line, index) => {
        const which = `${one} ${index + 1}`;
        return html`<li key=${line.key} class="pairs__line">
          ${named && html`<${Cell} label=${`${which}: name`} value=${line.name} wrong=${error && !line.name.value.trim()} placeholder="NAME" />`}
          <${Cell} label=${named ? `${which}: value` : which} value=${line.value} secret=${named} />
          <button type="button" class="tool" aria-label=${`Remove ${which.toLowerCase()}`} onClick=${() => pairs.remove(line)}>
            <${Icon} name="close" />
          </button>
        </li>`;
      })}
    </ul>
    <button type="button" class="action" onClick=${add}><${Icon} name="plus" />Add ${one.toLowerCase()}</button>
    ${error && html`<p class="field__error" id=${id}><${Icon} name="warning" />${error}</p>`}
  </fieldset>`;
}

/** @param {{label: string, value: Signal<string>, secret?: boolean, wrong?: unknown, placeholder?: string}} props */
function Cell({ label, value, secret = false, wrong = false, placeholder = "" }) {
  const masked = secret && value.value === MASK;
  return html`<input
    class="input input--code"
    type=${secret && !masked ? "password" : "text"}
    autocomplete="off"
    spellcheck=${false}
    aria-label=${masked ? `${label}, kept as it is unless you type another` : label}
    aria-invalid=${wrong ? "true" : undefined}
    placeholder=${placeholder}
    value=${value.value}
    onFocus=${(/** @type {FocusEvent & {currentTarget: HTMLInputElement}} */ event) => masked && event.currentTarget.select()}
    onInput=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => (value.value = event.currentTarget.value)}
  />`;
}
