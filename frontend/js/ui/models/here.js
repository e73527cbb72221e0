/** @import { LocalModel } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { bytes, count } from "../../text/format.js";
import { useApp } from "../context.js";
import { Empty, Loaded, Words } from "../settings/parts.js";
import { useLibrary, useServed } from "./library.js";
import { ModelRow } from "./model_row.js";
import { SwitchProgress } from "./switch_progress.js";

/** @param {{downloads: ModelDownloads}} props */
export function Here({ downloads }) {
  const { engine } = useApp();
  const library = useLibrary();
  const served = useServed();
  const upstream = engine.current.value?.mode === "upstream";
  return html`<p class="set__lead">
      What Fireside found in its own folder, in the Hugging Face cache and in the folders it was given.
      ${upstream && html`${" "}<${Words} words="Another server answers now; start Fireside without \`--upstream\` to serve one of these." />`}
    </p>
    <${SwitchProgress} />
    <${Loaded} listing=${library} what="The models on this machine">
      ${(/** @type {LocalModel[]} */ models) =>
        models.length === 0
          ? html`<${Empty} icon="chip">None yet. <a href=${placeHref("models", "recommended")}>See what suits this machine</a><//>`
          : html`<ul class="rows" aria-label="Models on this machine">
                ${models
                  .toSorted((one, other) => Number(other.repo_id === served) - Number(one.repo_id === served))
                  .map(
                    (model) =>
                      html`<${ModelRow} key=${model.path} model=${model} served=${model.repo_id === served} downloads=${downloads} />`,
                  )}
              </ul>
              <p class="row__note">${total(models)}</p>`}
    <//>`;
}

/** @param {LocalModel[]} models */
function total(models) {
  const size = bytes(models.reduce((sum, { size_bytes }) => sum + size_bytes, 0));
  return `${count(models.length)} ${models.length === 1 ? "model" : "models"}, ${size} on the disk`;
}
