/** @import { LocalModel } from "../../net/models_api.js" */

import { html } from "../../lib.js";
import { marksOf, modelLine, obstacle, ownerOf, shortName } from "../../text/models_words.js";
import { FactLine } from "../fact_line.js";
import { Icon } from "../icons.js";
import { useServedWords } from "./library.js";

/**
 * A model of the picker, chosen by the keys of its field, or by a click.
 *
 * @param {{id: string, model: LocalModel, served: boolean, active: boolean, waiting: boolean, onTake: () => void}} props
 */
export function PickOption({ id, model, served, active, waiting, onTake }) {
  const why = obstacle(model);
  const words = useServedWords();
  return html`<div
    class=${`pick ${served ? "pick--served" : ""} ${active ? "pick--active" : ""}`}
    id=${id}
    role="option"
    aria-selected=${served}
    aria-disabled=${why !== "" || waiting}
    data-model=${model.repo_id}
    onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}
    onClick=${onTake}
  >
    <span class="pick__mark">${served && html`<${Icon} name="check" />`}</span>
    <span class="pick__text">
      <span class="pick__name" dir="auto">
        <b>${shortName(model.repo_id)}</b>${ownerOf(model.repo_id) && html`${" "}<span class="pick__owner">${ownerOf(model.repo_id)}</span>`}
      </span>
      <span class="pick__line"><${FactLine} line=${[modelLine(model), ...marksOf(model)].join(" · ")} /></span>
      ${why && html`<span class="pick__why">${why}</span>`}
      ${served && html`<span class="visually-hidden">${words}</span>`}
    </span>
  </div>`;
}
