/** @import { Download } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html, useSignal } from "../../lib.js";
import { reasonOf } from "../../net/answers.js";
import { placeHref } from "../../state/router.js";
import { downloadLine, downloadState, downloadTitle } from "../../text/models_words.js";
import { useApp } from "../context.js";
import { FactLine } from "../fact_line.js";
import { Meter } from "../meter.js";
import { Confirm } from "../settings/parts.js";
import { WhyNot } from "./why_not.js";

/** @type {Record<Download["state"], string>} */
const LOOKS = { running: "starting", queued: "waiting", paused: "waiting", done: "ready", failed: "failed", cancelled: "waiting" };

/** A download, how far it is, and what can be done with it. @param {{download: Download, downloads: ModelDownloads}} props */
export function DownloadRow({ download, downloads }) {
  const { connected } = useApp();
  const error = useSignal("");
  const { bytes, id, repo_id, state, total } = download;
  const tell = async (/** @type {"pause" | "resume" | "cancel"} */ verb) => {
    error.value = "";
    try {
      await downloads.tell(id, verb);
    } catch (failure) {
      error.value = reasonOf(failure);
    }
  };
  const act = (/** @type {string} */ label, /** @type {"pause" | "resume"} */ verb) => html`<button
    type="button"
    class="button"
    aria-label=${`${label}: ${repo_id}`}
    disabled=${!connected.value}
    onClick=${() => tell(verb)}
  >
    ${label}
  </button>`;
  const over = state === "done" || state === "cancelled";
  return html`<li class="row download" data-testid="download" data-model=${repo_id} data-state=${state}>
    <div class="row__text">
      <p class="row__head">
        <a href=${placeHref("models", `find/${repo_id}`)} dir="auto"><b>${downloadTitle(download)}</b></a>
        <span class=${`state state--${LOOKS[state]}`}>${downloadState(download)}</span>
      </p>
      ${!over && total > 0 && html`<${Meter} label=${`Download of ${repo_id}`} done=${bytes} total=${total} />`}
      ${state !== "cancelled" && downloadLine(download) && html`<p class="row__note download__line"><${FactLine} line=${downloadLine(download)} /></p>`}
    </div>
    ${!over &&
    html`<div class="row__acts">
      ${(state === "running" || state === "queued") && act("Pause", "pause")}
      ${state === "paused" && act("Resume", "resume")}
      ${state === "failed" && act("Try again", "resume")}
      <${Confirm}
        label="Cancel"
        about=${repo_id}
        question="What has come of it is removed."
        yes="Cancel it"
        disabled=${!connected.value}
        onYes=${() => tell("cancel")}
      />
    </div>`}
    ${state === "done" &&
    html`<div class="row__acts">
      <a class="button" href=${placeHref("models", "here")} aria-label=${`Show it: ${repo_id}`}>Show it</a>
    </div>`}
    ${download.error && html`<${WhyNot} words=${download.error.message} full=${download.error.code === "disk_full"} />`}
    ${error.value && html`<${WhyNot} words=${error.value} full=${false} />`}
  </li>`;
}
