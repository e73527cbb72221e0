/** @import { LocalModel } from "../../net/models_api.js" */
/** @import { ModelDownloads } from "../../state/models_downloads.js" */

import { html, useSignal } from "../../lib.js";
import { reasonOf } from "../../net/answers.js";
import { bitsWords, contextWords, KINDS, marksOf, obstacle, ownerOf, parameterWords } from "../../text/models_words.js";
import { rateWords, shortName, tooLarge } from "../../text/models_words.js";
import { bytes } from "../../text/format.js";
import { useApp } from "../context.js";
import { FactLine } from "../fact_line.js";
import { FitBar } from "./fit_bar.js";
import { FitDetails } from "./fit_details.js";
import { useServedWords } from "./library.js";
import { Smaller } from "./smaller.js";

/** A model on this machine. @param {{model: LocalModel, served: boolean, downloads: ModelDownloads}} props */
export function ModelRow({ model, served, downloads }) {
  const { assessment, complete, context_window, kind, licence, parameters, repo_id, size_bytes } = model;
  const why = obstacle(model);
  const words = useServedWords();
  const facts = [
    bytes(size_bytes),
    parameterWords(parameters),
    bitsWords(model),
    contextWords(context_window),
    rateWords(assessment),
    licence ?? "licence not stated",
  ];
  return html`<li class="row model" data-testid="model" data-model=${repo_id}>
    <div class="row__text">
      <p class="row__head">
        <b dir="auto">${shortName(repo_id)}</b>
        ${ownerOf(repo_id) && html`<span class="model__owner">${ownerOf(repo_id)}</span>`}
        ${served && html`<span class="tag tag--on">${words}</span>`}
        ${kind !== "chat" && html`<span class="tag">${KINDS[kind]}</span>`}
        ${marksOf(model).map((mark) => html`<span key=${mark} class="tag">${mark}</span>`)}
      </p>
      <p class="row__note"><${FactLine} line=${facts.filter(Boolean).join(" · ")} /></p>
      ${complete && html`<${FitBar} assessment=${assessment} />`}
      <p class=${`row__note ${why && kind === "chat" ? "row__note--bad" : ""}`}>
        ${why || assessment.reason}${why !== "" && tooLarge(model) && html`${" "}<${Smaller} />`}
      </p>
      <${FitDetails} model=${model} />
    </div>
    <${Acts} model=${model} served=${served} why=${why} downloads=${downloads} />
  </li>`;
}

/** @param {{model: LocalModel, served: boolean, why: string, downloads: ModelDownloads}} props */
function Acts({ model, served, why, downloads }) {
  const { connected, engine, modelSwitch } = useApp();
  const { repo_id } = model;
  if (!model.complete && model.origin === "hub") return html`<${Resume} model=${model} downloads=${downloads} />`;
  if (served || why || engine.current.value?.mode !== "core") return null;
  return html`<div class="row__acts">
    <button
      type="button"
      class="button"
      aria-label=${`Serve ${repo_id}`}
      disabled=${!connected.value || modelSwitch.busy.value}
      onClick=${() => modelSwitch.choose(repo_id)}
    >
      ${modelSwitch.asking.value === repo_id ? "Asking…" : "Serve"}
    </button>
  </div>`;
}

/** Fetches what is missing of a model. @param {{model: LocalModel, downloads: ModelDownloads}} props */
function Resume({ model: { repo_id }, downloads }) {
  const error = useSignal("");
  const job = downloads.of(repo_id);
  const running = job?.state === "running" || job?.state === "queued";
  const resume = async () => {
    error.value = "";
    try {
      if (job && (job.state === "paused" || job.state === "failed")) await downloads.tell(job.id, "resume");
      else await downloads.get(repo_id, null);
    } catch (failure) {
      error.value = reasonOf(failure);
    }
  };
  return html`<div class="row__acts">
      <button type="button" class="button" aria-label=${`Resume the download of ${repo_id}`} disabled=${running} onClick=${resume}>
        ${running ? "Downloading…" : "Resume"}
      </button>
    </div>
    ${error.value && html`<p class="field__error model__error" role="alert">${error.value}</p>`}`;
}
