import { html, useEffect, useMemo, useSignalEffect } from "../../lib.js";
import { Memory } from "../../state/memory.js";
import { memoryPlace } from "../../state/memory_place.js";
import { useApp } from "../context.js";
import { About } from "./about.js";
import { ArticlePane } from "./article_pane.js";
import { Consent } from "./consent.js";
import { MemoryList } from "./list.js";
import { NewArticle } from "./new_article.js";
import { onReturn } from "./on_return.js";
import { ProposalReview } from "./proposal_review.js";
import { Trouble } from "./trouble.js";

/** The memory: its articles beside the one that is read; on a narrow window one of both. */
export function MemoryView() {
  const { connected, router } = useApp();
  const memory = useMemo(() => new Memory(), []);
  // At once, again whenever Fireside has come back, and when the reader has: others write here too.
  useSignalEffect(() => {
    if (connected.value || !memory.status.peek()) void memory.load();
  });
  useEffect(() => onReturn(() => memory.load()), [memory]);
  const place = memoryPlace(router.place.value);
  const status = memory.status.value;
  return html`<section
    class=${`view memory ${place.kind === "list" ? "" : "memory--page"}`}
    aria-label="Memory"
    aria-busy=${memory.busy.value && !status}
  >
    ${status === null && (memory.error.value ? html`<${Failed} memory=${memory} />` : html`<${Loading} />`)}
    ${status && !status.exists && html`<${Consent} memory=${memory} />`}
    ${status?.exists &&
    html`<div class="memory__panes">
      <${MemoryList} memory=${memory} place=${place} />
      <div class="memory__page"><${Pane} memory=${memory} place=${place} /></div>
    </div>`}
  </section>`;
}

/** @param {{memory: Memory, place: import("../../state/memory_place.js").MemoryPlace}} props */
function Pane({ memory, place }) {
  if (place.kind === "article") {
    return html`<${ArticlePane} key=${place.name} memory=${memory} name=${place.name} heading=${place.heading} />`;
  }
  if (place.kind === "proposals") return html`<${ProposalReview} memory=${memory} />`;
  if (place.kind === "new") return html`<${NewArticle} key=${place.name} memory=${memory} name=${place.name} />`;
  return html`<${About} memory=${memory} />`;
}

/** @param {{memory: Memory}} props */
function Failed({ memory }) {
  return html`<${Trouble}
    title="The memory cannot be shown"
    words=${memory.error.value}
    busy=${memory.busy.value}
    onRetry=${() => memory.load()}
  />`;
}

function Loading() {
  return html`<div class="memory__panes" role="status">
    <span class="visually-hidden">Opening the memory…</span>
    <div class="memory__list skeleton" aria-hidden="true">
      ${[0, 1, 2, 3, 4, 5].map((row) => html`<div key=${row} class="skeleton__row"></div>`)}
    </div>
    <div class="memory__page"></div>
  </div>`;
}
