import { html, useId } from "../../lib.js";

/**
 * One of a few, all in view; what is chosen is decided elsewhere.
 *
 * @param {{
 *   legend: string, value: string, disabled?: boolean,
 *   options: readonly (readonly [value: string, label: string])[], onChoose: (value: string) => unknown,
 * }} props
 */
export function Radios({ legend, value, disabled = false, options, onChoose }) {
  const name = useId();
  return html`<fieldset class="choices" disabled=${disabled}>
    <legend class="field__label">${legend}</legend>
    <div class="choices__row">
      ${options.map(
        ([option, label]) => html`<label key=${option} class="choices__one">
          <input
            type="radio"
            name=${name}
            class="visually-hidden"
            checked=${option === value}
            onChange=${() => onChoose(option)}
          />
          <span>${label}</span>
        </label>`,
      )}
    </div>
  </fieldset>`;
}
