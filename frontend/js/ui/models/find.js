/** @import { Found, Sort } from "../../net/models_api.js" */
/** @import { HubSearch } from "../../state/models_search.js" */

import { html, useEffect, useId } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { count } from "../../text/format.js";
import { foundLine, ownerOf, shortName } from "../../text/models_words.js";
import { Radios } from "../chat/radios.js";
import { FactLine } from "../fact_line.js";
import { Icon } from "../icons.js";
import { Empty } from "../settings/parts.js";
import { Bones } from "./bones.js";
import { useLibrary } from "./library.js";
import { Trouble } from "./trouble.js";

const GB = 1e9;
const ALL = ", ready for MLX. Try All: others can be converted.";

/** @type {readonly (readonly [Sort, string])[]} */
const SORTS = [
  ["downloads", "Most downloaded"],
  ["trending", "Trending"],
  ["likes", "Most liked"],
  ["updated", "Updated lately"],
  ["size", "Smallest"],
];
const SIZES = [1, 2, 5, 10, 20, 50];

/** Models on the hub. @param {{search: HubSearch}} props */
export function Find({ search }) {
  useEffect(() => {
    search.start();
    return () => search.close();
  }, []);
  const found = search.found.value;
  const error = search.error.value;
  return html`<search><${Wanted} search=${search} /></search>
    ${error && html`<${Trouble} words=${error} busy=${search.busy.value} onRetry=${() => search.again()} />`}
    ${!error && found === null && html`<${Bones} words="Asking the hub…" />`}
    ${!error && found && html`<${Results} found=${found} search=${search} />`}`;
}

/** @param {{search: HubSearch}} props */
function Wanted({ search }) {
  const [text, sort, most] = [useId(), useId(), useId()];
  const value = (/** @type {Event & {currentTarget: HTMLInputElement | HTMLSelectElement}} */ event) => event.currentTarget.value;
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    search.again();
  };
  return html`<form class="form wanted" aria-label="Search on the hub" onSubmit=${submit}>
    <div class="field wanted__text">
      <label class="field__label" for=${text}>Search on the hub</label>
      <input
        id=${text}
        class="input"
        type="search"
        placeholder="A name, or words of it"
        autocomplete="off"
        autocapitalize="off"
        spellcheck=${false}
        maxlength="200"
        dir="auto"
        value=${search.text.value}
        onInput=${(/** @type {any} */ event) => (search.text.value = value(event))}
      />
    </div>
    <${Radios}
      legend="Format"
      value=${search.mlx.value ? "mlx" : "all"}
      options=${[["mlx", "MLX only"], ["all", "All"]]}
      onChoose=${(/** @type {string} */ choice) => (search.mlx.value = choice === "mlx")}
    />
    <div class="field">
      <label class="field__label" for=${sort}>Order</label>
      <select
        id=${sort}
        class="input"
        value=${search.sort.value}
        onChange=${(/** @type {any} */ event) => (search.sort.value = /** @type {Sort} */ (value(event)))}
      >
        ${SORTS.map(([name, label]) => html`<option key=${name} value=${name}>${label}</option>`)}
      </select>
    </div>
    <div class="field">
      <label class="field__label" for=${most}>Size</label>
      <select
        id=${most}
        class="input"
        value=${search.most.value === null ? "" : String(search.most.value)}
        onChange=${(/** @type {any} */ event) => (search.most.value = Number(value(event)) || null)}
      >
        <option value="">Any</option>
        ${SIZES.map((size) => html`<option key=${size} value=${String(size * GB)}>Up to ${size} GB</option>`)}
      </select>
    </div>
  </form>`;
}

/** @param {{found: readonly Found[], search: HubSearch}} props */
function Results({ found, search }) {
  const library = useLibrary();
  const here = new Set(library.value.value?.filter(({ complete }) => complete).map(({ repo_id }) => repo_id));
  const text = search.text.value.trim();
  return html`<p class="visually-hidden" role="status">${search.busy.value ? "" : `${count(found.length)} found`}</p>
    ${found.length === 0 &&
    !search.busy.value &&
    html`<${Empty} icon="search">
      The hub has nothing ${text ? `with “${text}” in its name` : "like this"}${search.mlx.value ? ALL : "."}
    <//>`}
    <ul class=${`rows ${search.busy.value ? "rows--stale" : ""}`} aria-label="Models on the hub" aria-busy=${search.busy.value}>
      ${found.map((model) => html`<${FoundRow} key=${model.repo_id} model=${model} here=${here.has(model.repo_id)} />`)}
    </ul>`;
}

/** @param {{model: Found, here: boolean}} props */
function FoundRow({ model, here }) {
  const { gated, mlx, repo_id, task } = model;
  return html`<li class="row offer" data-testid="found" data-model=${repo_id}>
    <div class="row__text">
      <p class="row__head">
        <a class="offer__link" href=${placeHref("models", `find/${repo_id}`)} dir="auto"><b>${shortName(repo_id)}</b></a>
        <span class="model__owner">${ownerOf(repo_id)}</span>
        ${here && html`<span class="tag tag--on">On this machine</span>`}
        ${mlx && html`<span class="tag">MLX</span>`}
        ${gated !== "no" && html`<span class="tag"><${Icon} name="lock" />Gated</span>`}
        ${task && html`<span class="tag">${task}</span>`}
      </p>
      <p class="row__note"><${FactLine} line=${foundLine(model)} /></p>
    </div>
    <${Icon} name="right" />
  </li>`;
}
