/** @import { Memory } from "../../state/memory.js" */
/** @import { MemoryPlace } from "../../state/memory_place.js" */

import { html, useLayoutEffect, useMemo, useRef } from "../../lib.js";
import { aboutHref, articleHref, newHref, proposalsHref } from "../../state/memory_place.js";
import { MemorySearch } from "../../state/memory_search.js";
import { count } from "../../text/format.js";
import { focusOn } from "../focus.js";
import { Icon } from "../icons.js";
import { ArticleRows } from "./article_rows.js";
import { FoundRows } from "./found_rows.js";

const SEARCH = "memory-search";

/** The way to every article. @param {{memory: Memory, place: MemoryPlace}} props */
export function MemoryList({ memory, place }) {
  const search = useMemo(() => new MemorySearch(), []);
  const waiting = memory.proposals.value.length;
  const looking = search.query.value.trim() !== "";
  const current = place.kind === "article" ? place.name : "";
  const list = useComingBack(current);
  return html`<nav class="memory__list" aria-label="Articles" ref=${list} onKeyDown=${walk}>
    <${SearchField} search=${search} />
    <div class="memory__ways">
      ${memory.writable.value &&
      html`<a
        class="button memory__new"
        href=${newHref()}
        aria-current=${place.kind === "new" ? "page" : undefined}
      >
        <${Icon} name="plus" />New article
      </a>`}
      ${waiting > 0 &&
      html`<a
        class="memory__waiting"
        href=${proposalsHref}
        aria-current=${place.kind === "proposals" ? "page" : undefined}
        data-testid="to-review"
      >
        <b>${count(waiting)}</b> to review
      </a>`}
      <a
        class="memory__about action action--icon"
        href=${aboutHref}
        aria-label="About this memory"
        title="About this memory"
      >
        <${Icon} name="book" />
      </a>
    </div>
    ${looking
      ? html`<${FoundRows} search=${search} current=${current} />`
      : html`<${ArticleRows} articles=${memory.articles.value} current=${current} />`}
  </nav>`;
}

/**
 * Back from an article that took the list's place, the focus is where it came from.
 *
 * @param {string} current  the article that is open, "" for none
 */
function useComingBack(current) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const last = useRef("");
  useLayoutEffect(() => {
    if (current) return void (last.current = current);
    const lost = document.activeElement === document.body;
    const address = CSS.escape(articleHref(last.current));
    const row = lost && last.current && list.current?.querySelector(`a[href="${address}"]`);
    if (row instanceof HTMLElement) row.focus();
    return undefined;
  }, [current]);
  return list;
}

/** @param {{search: MemorySearch}} props */
function SearchField({ search }) {
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || event.isComposing || !search.query.peek()) return;
    event.preventDefault();
    search.look("");
  };
  const onInput = (/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) =>
    search.look(event.currentTarget.value);
  return html`<div class="find memory__find">
    <${Icon} name="search" />
    <input
      id=${SEARCH}
      type="search"
      placeholder="Search the memory"
      aria-label="Search the memory"
      autocomplete="off"
      dir="auto"
      value=${search.query}
      onInput=${onInput}
      onKeyDown=${onKeyDown}
    />
  </div>`;
}

/**
 * The arrow keys walk the list, from the search field on.
 *
 * @param {KeyboardEvent & {currentTarget: HTMLElement}} event
 */
function walk(event) {
  if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || event.isComposing) return;
  const rows = [...event.currentTarget.querySelectorAll(".memory__rows a")];
  const here = rows.indexOf(/** @type {Element} */ (document.activeElement));
  const next = here + (event.key === "ArrowDown" ? 1 : -1);
  if (here < 0 && document.activeElement?.id !== SEARCH) return;
  event.preventDefault();
  const row = rows[next];
  if (row instanceof HTMLElement) row.focus();
  else if (next < 0) focusOn(SEARCH);
}
