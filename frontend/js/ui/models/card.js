/** @import { HubModel } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { BlockView } from "../../dom/block_view.js";
import { html, useLayoutEffect, useRef } from "../../lib.js";
import { readHubModel } from "../../net/models_api.js";
import { placeHref } from "../../state/router.js";
import { bytes, count } from "../../text/format.js";
import { foundLine, GATED, ownerOf, shortName } from "../../text/models_words.js";
import { FactLine } from "../fact_line.js";
import { Icon } from "../icons.js";
import { useListing, Words } from "../settings/parts.js";
import { Bones } from "./bones.js";
import { GetModel } from "./get_model.js";
import { Trouble } from "./trouble.js";

/** A model of the hub: what it is, what it has, and the way to have it. @param {{repo: string, downloads: ModelDownloads}} props */
export function Card({ repo, downloads }) {
  const listing = useListing(() => readHubModel(repo));
  const { value } = listing.value;
  const error = listing.error.value;
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => title.current?.focus({ preventScroll: true }), []);
  return html`<article class="set" aria-label=${repo} aria-busy=${listing.busy.value} data-testid="card">
    <header class="card__head">
      <p><a class="card__back" href=${placeHref("models", "find")}><${Icon} name="left" />Find</a></p>
      <p class="article__folder">${ownerOf(repo)}</p>
      <h2 tabindex="-1" ref=${title} dir="auto">${shortName(repo)}</h2>
      ${value && html`<p class="row__note"><${FactLine} line=${foundLine({ ...value.model, size: value.size })} /></p>`}
    </header>
    ${error && !value && html`<${Trouble} words=${error} busy=${listing.busy.value} onRetry=${() => listing.load()} />`}
    ${!error && !value && html`<${Bones} words="Asking the hub…" />`}
    ${value && html`<${About} model=${value} downloads=${downloads} />`}
  </article>`;
}

/** @param {{model: HubModel, downloads: ModelDownloads}} props */
function About({ model, downloads }) {
  const { card_html, endpoint, model: found } = model;
  const page = `${endpoint}/${found.repo_id}`;
  return html`${found.gated !== "no" &&
    html`<div class="remark" role="note">
      <${Icon} name="lock" />
      <p><${Words} words=${GATED[found.gated]} /> <a href=${page} target="_blank" rel="noopener noreferrer">Its page</a></p>
    </div>`}
    <${GetModel} model=${model} downloads=${downloads} />
    <${Files} model=${model} />
    ${card_html === null
      ? html`<p class="row__note">${found.gated === "no" ? "It has no description." : "Its description can be read once you have access."}</p>`
      : html`<${Readme} text=${card_html} />`}`;
}

/** @param {{text: string}} props */
function Readme({ text }) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (root.current) new BlockView(root.current).show([text], 1);
    return () => root.current?.replaceChildren();
  }, [text]);
  return html`<section class="markdown card__text" aria-label="Description" ref=${root}></section>`;
}

/** @param {{model: HubModel}} props */
function Files({ model: { files, size } }) {
  return html`<details class="row__more">
    <summary>${count(files.length)} ${files.length === 1 ? "file" : "files"}, ${bytes(size)}</summary>
    <div class="scroller" tabindex="0" role="region" aria-label="Files">
      <table class="table">
        <thead><tr><th scope="col">File</th><th scope="col" class="number">Size</th></tr></thead>
        <tbody>
          ${files.map(
            ({ name, size: own }) => html`<tr key=${name}>
              <td class="row__code">${name}</td>
              <td class="number">${own === null ? "–" : bytes(own)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}
