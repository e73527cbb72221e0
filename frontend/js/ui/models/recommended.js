/** @import { Recommendation, Recommended } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html } from "../../lib.js";
import { readRecommended } from "../../net/models_api.js";
import { placeHref } from "../../state/router.js";
import { bytes, speed } from "../../text/format.js";
import { machineWords, ownerOf, parameterWords } from "../../text/models_words.js";
import { FactLine } from "../fact_line.js";
import { Empty, Loaded, useListing } from "../settings/parts.js";

/** A short list for this machine. Nothing of it is fetched unasked. @param {{downloads: ModelDownloads}} props */
export function RecommendedSection({ downloads }) {
  const listing = useListing(readRecommended);
  return html`<${Loaded} listing=${listing} what="What suits this machine">
    ${(/** @type {Recommended} */ { machine, models }) => html`<p class="set__lead">
        What suits this machine and leaves room for other programs: <${FactLine} line=${`${machineWords(machine)}.`} />
      </p>
      ${models.length === 0 &&
      html`<${Empty} icon="chip">
        None of the models that are known well fits here. <a href=${placeHref("models", "find")}>Look for a smaller one</a>
      <//>`}
      <ul class="rows" aria-label="Recommended models">
        ${models.map((model) => html`<${Row} key=${model.repo_id} model=${model} downloads=${downloads} />`)}
      </ul>`}
  <//>`;
}

/** @param {{model: Recommendation, downloads: ModelDownloads}} props */
function Row({ model, downloads }) {
  const { here, name, needed_bytes, parameters, predicted_decode_tps: rate, purpose, repo_id, size_bytes } = model;
  const coming = downloads.live.value.some((download) => download.repo_id === repo_id);
  const facts = [
    `${bytes(size_bytes)} to download`,
    parameterWords(parameters),
    `${bytes(needed_bytes)} in memory`,
    rate && `about ${speed(rate)}`,
    ownerOf(repo_id),
  ];
  return html`<li class="row" data-testid="recommended" data-model=${repo_id}>
    <div class="row__text">
      <p class="row__head">
        <b>${name}</b>
        ${here && html`<span class="tag tag--on">On this machine</span>`}
        ${coming && html`<span class="tag">Downloading</span>`}
      </p>
      <p>${purpose}</p>
      <p class="row__note"><${FactLine} line=${facts.filter(Boolean).join(" · ")} /></p>
    </div>
    <div class="row__acts">
      <a class="button" href=${placeHref("models", here ? "here" : `find/${repo_id}`)} aria-label=${`${here ? "Show it" : "Look at it"}: ${name}`}>
        ${here ? "Show it" : "Look at it"}
      </a>
    </div>
  </li>`;
}
