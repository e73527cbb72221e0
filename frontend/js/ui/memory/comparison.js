/** @import { Versions } from "../../state/memory_versions.js" */

import { html, useId } from "../../lib.js";
import { BEFORE, NOW } from "../../state/memory_versions.js";
import { commitWords, shortly } from "../../text/memory_words.js";
import { Diff } from "../diff.js";
import { Icon } from "../icons.js";

const SHOWN_COMMITS = 200;

/**
 * The difference of two versions, and the way back to the newer of them.
 *
 * @param {{versions: Versions, onRestore?: (commit: string) => void}} props
 */
export function Comparison({ versions, onRestore }) {
  const { commits, diff, error, from, to } = versions;
  if (commits.value.length === 0) return null;
  const old = to.value !== NOW;
  return html`<section class="history__diff" aria-label="What changed">
    <div class="history__choice">
      <${Choice}
        label="Compare"
        value=${from.value}
        versions=${versions}
        first=${[BEFORE, "the version before"]}
        onChange=${(/** @type {string} */ value) => void versions.compare(value, to.peek())}
      />
      <${Choice}
        label="with"
        value=${to.value}
        versions=${versions}
        first=${[NOW, "now"]}
        onChange=${(/** @type {string} */ value) => void versions.compare(from.peek(), value)}
      />
      ${onRestore &&
      old &&
      html`<button type="button" class="action" onClick=${() => onRestore(to.peek())}>
        <${Icon} name="undo" />Edit from this version
      </button>`}
    </div>
    <div aria-live="polite">
      ${error.value && html`<p class="writer__error" role="alert">${error.value}</p>`}
      ${diff.value === null && !error.value && html`<p class="history__none">Comparing…</p>`}
      ${diff.value === "" && html`<p class="history__none">There is no difference.</p>`}
      ${diff.value && html`<${Diff} text=${diff.value} label="Difference" />`}
    </div>
  </section>`;
}

/**
 * @typedef {object} ChoiceProps
 * @property {string} label
 * @property {string} value
 * @property {Versions} versions
 * @property {readonly [string, string]} first
 * @property {(value: string) => void} onChange
 */

/** @param {ChoiceProps} props */
function Choice({ label, value, versions, first, onChange }) {
  const id = useId();
  const change = (/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) =>
    onChange(event.currentTarget.value);
  return html`<div class="history__select">
    <label for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${change}>
      <option value=${first[0]} selected=${value === first[0]}>${first[1]}</option>
      ${versions.commits.value
        .slice(0, SHOWN_COMMITS)
        .map(
          ({ commit, subject, time }) =>
            html`<option key=${commit} value=${commit} selected=${value === commit}>
              ${commitWords(subject, versions.name)}, ${shortly(time)}
            </option>`,
        )}
    </select>
  </div>`;
}
