/** @import { Memory } from "../../state/memory.js" */
/** @import { ProposalValue } from "../../state/proposals.js" */

import { html, useEffect, useMemo, useSignal } from "../../lib.js";
import { listHref } from "../../state/memory_place.js";
import { ProposalDesk } from "../../state/proposals.js";
import { href } from "../../state/router.js";
import { ago, several } from "../../text/memory_words.js";
import { ProposalCard } from "../proposal.js";
import { Back } from "./back.js";
import { useLostFocus } from "./place_focus.js";

/** All that the model wants to write, the newest first. @param {{memory: Memory}} props */
export function ProposalReview({ memory }) {
  const heading = useLostFocus("Proposals");
  const open = memory.proposals.value;
  const seen = useSeen(open);
  return html`<div class="memory__column review">
    <${Back} href=${listHref} />
    <h2 tabindex="-1" ref=${heading}>
      ${open.length > 0 ? `${several(open.length, "proposal")} to review` : "Nothing to review"}
    </h2>
    <p class="about__faint">
      ${open.length > 0
        ? "Nothing is written before you accept it. Each one that you accept is one commit, undone with one click."
        : "When the model proposes to remember something in a chat, it waits here as well until you decide."}
    </p>
    ${seen.map(
      (proposal) =>
        html`<${MemoryProposal} key=${proposal.id} proposal=${proposal} onSettled=${() => memory.load()} />`,
    )}
  </div>`;
}

/**
 * The proposals that wait, and those that were settled here, so that they can be undone.
 *
 * @param {readonly ProposalValue[]} open
 */
export function useSeen(open) {
  const seen = useSignal(/** @type {readonly ProposalValue[]} */ ([]));
  const known = new Set(seen.value.map(({ id }) => id));
  const all = [...open.filter(({ id }) => !known.has(id)), ...seen.value];
  useEffect(() => {
    if (all.length !== seen.peek().length) seen.value = all;
  });
  return all;
}

/** One proposal, beside the article or in the list. @param {{proposal: ProposalValue, onSettled: () => void}} props */
export function MemoryProposal({ proposal, onSettled }) {
  const desk = useMemo(() => new ProposalDesk(proposal.call_id, proposal), [proposal.id]);
  const status = desk.proposal.value?.status;
  useEffect(() => {
    if (status !== "open") onSettled();
  }, [status]);
  return html`<section class=${`call ${status === "open" ? "call--asking" : ""}`} data-proposal=${proposal.id}>
    <p class="review__from">
      Proposed ${ago(proposal.created_at)} in <a href=${href(proposal.session_id)}>this chat</a>
    </p>
    <${ProposalCard} desk=${desk} />
  </section>`;
}
