/** @import { Bits, HubModel } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html, useSignal } from "../../lib.js";
import { RouteError, reasonOf } from "../../net/answers.js";
import { bytes } from "../../text/format.js";
import { useApp } from "../context.js";
import { Radios } from "../chat/radios.js";
import { DownloadRow } from "./download_row.js";
import { HereNow } from "./here_now.js";
import { WhyNot } from "./why_not.js";

const FULL = 507;
const CHOICES = /** @type {const} */ ([["", "As it is"], ["4", "4-bit"], ["6", "6-bit"], ["8", "8-bit"], ["16", "16-bit"]]);

/** The way to have a model here: as it is, or converted for MLX. @param {{model: HubModel, downloads: ModelDownloads}} props */
export function GetModel({ model: { model, size }, downloads }) {
  const { connected } = useApp();
  const { mlx, repo_id } = model;
  const bits = useSignal(mlx ? "" : "4");
  const busy = useSignal(false);
  const trouble = useSignal(/** @type {{words: string, full: boolean} | null} */ (null));
  const job = downloads.of(repo_id);
  const get = async () => {
    busy.value = true;
    trouble.value = null;
    try {
      await downloads.get(repo_id, bits.peek() ? /** @type {Bits} */ (Number(bits.peek())) : null);
    } catch (error) {
      trouble.value = { words: reasonOf(error), full: error instanceof RouteError && error.status === FULL };
    } finally {
      busy.value = false;
    }
  };
  const going = job && job.state !== "done" && job.state !== "cancelled";
  return html`<section class="get" aria-label="Download">
    <${HereNow} repo=${repo_id} job=${job} />
    ${going
      ? html`<ul class="rows"><${DownloadRow} download=${job} downloads=${downloads} /></ul>`
      : html`${!mlx &&
          html`<${Radios}
              legend="Convert it for MLX"
              value=${bits.value}
              options=${CHOICES}
              onChoose=${(/** @type {string} */ choice) => (bits.value = choice)}
            />
            <p class="field__hint">Fewer bits need less memory and answer sooner; <span class="fact">4-bit</span> is a good choice for most.</p>`}
          <div class="save">
            <button type="button" class="button button--go" disabled=${busy.value || !connected.value} onClick=${get}>
              ${busy.value ? "Asking the hub…" : `${bits.value ? "Download and convert" : "Download"} · ${bytes(size)}`}
            </button>
          </div>`}
    ${trouble.value && html`<${WhyNot} words=${trouble.value.words} full=${trouble.value.full} />`}
  </section>`;
}
