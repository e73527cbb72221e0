/** @import { CleanUpPlan, Leftover } from "../../net/models_api.js" */

import { html, useEffect, useMemo } from "../../lib.js";
import { CleanUp } from "../../state/models_clean_up.js";
import { bytes, count } from "../../text/format.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { Confirm, Empty } from "../settings/parts.js";
import { Bones } from "./bones.js";

/** What may be removed to make room: shown with sizes, confirmed, then told. */
export function CleanUpSection() {
  const { announcer } = useApp();
  const state = useMemo(() => new CleanUp(), []);
  useEffect(() => void state.load(), []);
  const plan = state.plan.value;
  const removed = state.removed.value;
  const remove = async () => {
    await state.execute();
    const done = state.removed.peek();
    if (done) announcer.say(`${bytes(done.reclaimed_bytes)} freed.`);
  };
  return html`<p class="set__lead">
      Old versions of models, parts of downloads that do not go on, conversions that never ended, and cached conversations of
      models that are gone. Nothing that a model here needs is touched.
    </p>
    ${removed &&
    html`<div class="remark" role="note" data-testid="removed">
      <${Icon} name="check" />
      <div>
        <p>${bytes(removed.reclaimed_bytes)} freed.</p>
        ${removed.failed.map((words) => html`<p key=${words} class="row__note--bad">${words}</p>`)}
      </div>
    </div>`}
    ${state.error.value &&
    html`<div class="set__error" role="alert">
      <${Icon} name="warning" />
      <p>${state.error.value}</p>
      <button type="button" class="button" disabled=${state.busy.value} onClick=${() => state.load()}>Look again</button>
    </div>`}
    ${!plan && !state.error.value && html`<${Bones} words="Looking…" />`}
    ${plan && html`<${Plan} plan=${plan} state=${state} onRemove=${remove} />`}`;
}

/** @param {{plan: CleanUpPlan, state: CleanUp, onRemove: () => unknown}} props */
function Plan({ plan, state, onRemove }) {
  const gone = plan.superseded.filter(({ reclaim_bytes, prune_snapshots }) => reclaim_bytes > 0 || prune_snapshots.length > 0);
  const kept = plan.superseded.reduce((sum, { skipped_snapshots }) => sum + skipped_snapshots.length, 0);
  const rest = [...plan.partials, ...plan.converted, ...plan.ssd_cache];
  const nothing = gone.length === 0 && rest.length === 0;
  return html`${nothing && html`<${Empty} icon="check">There is nothing to remove.<//>`}
    ${gone.length > 0 && html`<${Part} title="Old versions of models" rows=${gone.map(oldVersions)} />`}
    ${plan.partials.length > 0 && html`<${Part} title="Parts of downloads" rows=${named(plan.partials)} />`}
    ${plan.converted.length > 0 && html`<${Part} title="Conversions that never ended" rows=${named(plan.converted)} />`}
    ${plan.ssd_cache.length > 0 && html`<${Part} title="Cached conversations of models that are gone" rows=${together(plan.ssd_cache)} />`}
    ${(kept > 0 || state.force.value) &&
    html`<label class="check">
      <input type="checkbox" checked=${state.force.value} disabled=${state.busy.value} onChange=${() => state.choose(!state.force.peek())} />
      <span>Also old versions with files that no newer one has<small>They were kept because such a file may be yours.</small></span>
    </label>`}
    ${!nothing &&
    html`<div class="save">
      <${Confirm}
        label=${`Remove ${bytes(plan.reclaim_bytes)}`}
        about="what is listed above"
        question=${`${bytes(plan.reclaim_bytes)} are removed for good.`}
        yes="Remove"
        disabled=${state.busy.value}
        onYes=${onRemove}
      />
    </div>`}`;
}

/** @param {CleanUpPlan["superseded"][number]} repository */
function oldVersions({ prune_snapshots: { length: number }, reclaim_bytes, repo_id }) {
  const note = number === 0 ? "Contents that nothing uses" : `${count(number)} ${number === 1 ? "version" : "versions"}`;
  return { name: repo_id, note, size: reclaim_bytes };
}

/** @param {Leftover[]} rows */
const named = (rows) => rows.map(({ bytes: size, path }) => ({ name: path.slice(path.lastIndexOf("/") + 1), note: path, size }));

/** As one line: they can be many, and their names say nothing. @param {Leftover[]} rows */
function together(rows) {
  const size = rows.reduce((sum, row) => sum + row.bytes, 0);
  return [{ name: `${count(rows.length)} ${rows.length === 1 ? "file" : "files"}`, note: folder(rows), size }];
}

/** @param {Leftover[]} rows */
const folder = ([first]) => first?.path.slice(0, first.path.lastIndexOf("/")) ?? "";

/** @param {{title: string, rows: {name: string, note: string, size: number}[]}} props */
function Part({ title, rows }) {
  return html`<section class="set__part" aria-label=${title}>
    <h3>${title}</h3>
    <ul class="rows">
      ${rows.map(
        ({ name, note, size }) => html`<li key=${note + name} class="row" data-testid="to-remove">
          <div class="row__text"><p class="row__head"><b dir="auto">${name}</b></p><p class="row__note row__code">${note}</p></div>
          <span class="row__size">${bytes(size)}</span>
        </li>`,
      )}
    </ul>
  </section>`;
}
