/** @import { FitReport, LocalModel } from "../../net/models_api.js" */

import { html, useSignal } from "../../lib.js";
import { readFit } from "../../net/models_api.js";
import { count } from "../../text/format.js";
import { fitWords } from "../../text/models_words.js";
import { Loaded, useListing } from "../settings/parts.js";

/** What is behind a model's line, read when it is opened. @param {{model: LocalModel}} props */
export function FitDetails({ model }) {
  const open = useSignal(false);
  const toggle = (/** @type {Event & {currentTarget: HTMLDetailsElement}} */ { currentTarget }) => (open.value = currentTarget.open);
  return html`<details class="row__more" onToggle=${toggle}>
    <summary>Details<span class="visually-hidden"> of ${model.repo_id}</span></summary>
    ${open.value &&
    html`<div class="model__details">
      <dl class="pairlist">
        <dt>Folder</dt><dd><code class="row__code">${model.path}</code></dd>
        ${model.architecture && html`<dt>Architecture</dt><dd>${model.architecture}</dd>`}
        ${model.assessment.needed_bytes !== null && html`<dt>Memory</dt><dd>${fitWords(model.assessment)}</dd>`}
        ${model.assessment.max_safe_context !== null &&
        html`<dt>Longest conversation</dt><dd>${count(model.assessment.max_safe_context)} tokens</dd>`}
      </dl>
      ${model.complete && html`<${Elsewhere} name=${model.repo_id} />`}
    </div>`}
  </details>`;
}

/** How it would fit on other machines. @param {{name: string}} props */
function Elsewhere({ name }) {
  const listing = useListing(() => readFit(name));
  return html`<${Loaded} listing=${listing} what="How it fits elsewhere">
    ${(/** @type {FitReport} */ { matrix }) => html`<div
      class="scroller"
      tabindex="0"
      role="region"
      aria-label=${`${name} on other machines`}
    >
      <table class="table">
        <thead>
          <tr>
            <th scope="col">On other machines</th>
            <th scope="col" class="number">Longest conversation</th>
            <th scope="col" class="number">Speed</th>
          </tr>
        </thead>
        <tbody>
          ${matrix.map(
            ({ chip, fits, max_safe_context, predicted_decode_tps: rate }) => html`<tr key=${chip}>
              <td>${chip}</td>
              <td class="number">${fits ? (max_safe_context === null ? "fits" : count(max_safe_context)) : "does not fit"}</td>
              <td class="number">${fits && rate ? `${count(rate)} tok/s` : "–"}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`}
  <//>`;
}
