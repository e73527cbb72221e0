/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { Icon } from "../icons.js";
import { Empty } from "../settings/parts.js";
import { Bones } from "./bones.js";
import { DownloadRow } from "./download_row.js";

/** @param {{downloads: ModelDownloads}} props */
export function DownloadsSection({ downloads }) {
  const rows = downloads.rows.value;
  const error = downloads.error.value;
  return html`<p class="set__lead">They go on while this page is closed, and after a restart of Fireside.</p>
    ${error &&
    html`<div class="set__error" role="alert">
      <${Icon} name="warning" />
      <p>The downloads cannot be read. ${error}</p>
      <button type="button" class="button" onClick=${() => downloads.read()}>Try again</button>
    </div>`}
    ${rows === null && !error && html`<${Bones} words="Loading…" />`}
    ${rows?.length === 0 && html`<${Empty} icon="download">None yet. <a href=${placeHref("models", "find")}>Find a model</a><//>`}
    ${rows !== null &&
    rows.length > 0 &&
    html`<ul class="rows" aria-label="Downloads">
      ${rows.map((download) => html`<${DownloadRow} key=${download.id} download=${download} downloads=${downloads} />`)}
    </ul>`}`;
}
