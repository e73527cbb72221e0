/** @import { ProposalValue } from "../state/proposals.js" */

import { html, useMemo, useSignal } from "../lib.js";
import { articleHref } from "../state/memory_place.js";
import { ProposalDesk } from "../state/proposals.js";
import { useApp } from "./context.js";
import { Diff } from "./diff.js";
import { DraftField } from "./draft_field.js";
import { Icon } from "./icons.js";

/** @type {Record<ProposalValue["status"], string>} */
const ENDS = {
  open: "",
  accepted: "Written to the memory",
  edited: "Written to the memory as you edited it",
  dropped: "Dropped; nothing was written",
  undone: "Undone; the memory is as it was",
};

/** What the model wants to write to the memory. Nothing is written without a yes. @param {{call_id: string}} props */
export function Proposal({ call_id }) {
  const desk = useMemo(() => new ProposalDesk(call_id), [call_id]);
  return html`<${ProposalCard} desk=${desk} />`;
}

/** @param {{desk: ProposalDesk}} props */
export function ProposalCard({ desk }) {
  const draft = useSignal(/** @type {string | null} */ (null));
  const proposal = desk.proposal.value;
  const failure = desk.error.value;
  const error = failure && html`<p class="call__question message__note--bad" role="alert">${failure}</p>`;
  if (!proposal) return error;
  const end = ENDS[proposal.status];
  return html`<div
    class="proposal"
    role="group"
    aria-label=${`Proposal for ${proposal.article}`}
    data-testid="proposal"
    data-status=${proposal.status}
  >
    <p class="call__question">
      <b>${proposal.before === null ? "New article" : "Change of"} <${ArticleName} proposal=${proposal} />.</b>
      ${" "}${proposal.reason}
    </p>
    ${draft.value === null
      ? html`<${Diff} text=${proposal.diff} label=${`Proposed change of ${proposal.article}`} />`
      : html`<${DraftField} label="Text of the article" draft=${draft} />`}
    ${error}
    ${end ? html`<${Ended} desk=${desk} end=${end} />` : html`<${Decision} desk=${desk} draft=${draft} />`}
  </div>`;
}

/** A link, where there is something to read. @param {{proposal: ProposalValue}} props */
function ArticleName({ proposal: { article, before, status } }) {
  const there = before === null ? status === "accepted" || status === "edited" : true;
  return there ? html`<a href=${articleHref(article)} dir="auto">${article}</a>` : html`<bdi>${article}</bdi>`;
}

/** @param {{desk: ProposalDesk, end: string}} props */
function Ended({ desk, end }) {
  const status = desk.proposal.value?.status;
  const written = status === "accepted" || status === "edited";
  return html`<div class="proposal__end">
    <p role="status">${end}</p>
    ${written &&
    html`<button type="button" class="action" disabled=${desk.busy.value} onClick=${() => desk.undo()}>
      <${Icon} name="undo" />Undo
    </button>`}
  </div>`;
}

/** @param {{desk: ProposalDesk, draft: import("../lib.js").Signal<string | null>}} props */
function Decision({ desk, draft }) {
  const { announcer } = useApp();
  const editing = draft.value !== null;
  const accept = async () => {
    await desk.accept(draft.value ?? undefined);
    if (desk.error.peek()) return;
    draft.value = null;
    announcer.say("Written to the memory.");
  };
  const toggle = () => (draft.value = editing ? null : (desk.proposal.peek()?.after ?? ""));
  return html`<div class="call__buttons">
    <button type="button" class="button button--go" disabled=${desk.busy.value} onClick=${accept}>
      ${editing ? "Accept as edited" : "Accept"}
    </button>
    <button type="button" class="button" aria-expanded=${editing} disabled=${desk.busy.value} onClick=${toggle}>
      ${editing ? "Do not edit" : "Edit"}
    </button>
    <button type="button" class="button" disabled=${desk.busy.value} onClick=${() => desk.drop()}>Drop</button>
  </div>`;
}
