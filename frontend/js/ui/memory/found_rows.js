/** @import { Found } from "../../net/memory_api.js" */
/** @import { MemorySearch } from "../../state/memory_search.js" */

import { html } from "../../lib.js";
import { articleHref } from "../../state/memory_place.js";
import { count } from "../../text/format.js";
import { folderOf, markedPieces } from "../../text/memory_words.js";
import { plainSnippet } from "../../text/plain_snippet.js";
import { Marked } from "../marked.js";

/** What the search has found. @param {{search: MemorySearch, current: string}} props */
export function FoundRows({ search, current }) {
  const results = search.results.value;
  return html`<p class="memory__order" role="status">${summary(search)}</p>
    <div class=${`memory__rows ${search.busy.value ? "memory__rows--old" : ""}`}>
      <ul>
        ${results.map(
          (found) =>
            html`<${FoundRow}
              key=${found.name}
              found=${found}
              terms=${search.terms.value}
              current=${found.name === current}
            />`,
        )}
      </ul>
    </div>`;
}

/** @param {MemorySearch} search */
function summary({ busy, error, results, total }) {
  const shown = results.value.length;
  if (error.value) return error.value;
  if (shown === 0) return busy.value ? "Looking…" : "No article has any of these words.";
  const all = `${count(total.value)} ${total.value === 1 ? "article" : "articles"} found`;
  return shown < total.value ? `${all}, the best ${count(shown)} shown` : all;
}

/** @param {{found: Found, terms: readonly string[], current: boolean}} props */
function FoundRow({ found: { name, title, hits }, terms, current }) {
  const best = hits.find((hit) => !hit.text.startsWith("#")) ?? hits[0];
  return html`<li>
    <a class="memory__row" href=${articleHref(name, best?.heading ?? "")} aria-current=${current ? "page" : undefined}>
      <span class="memory__title" dir="auto"><${Marked} pieces=${markedPieces(title, terms)} /></span>
      ${folderOf(name) && html`<span class="memory__detail" dir="auto">${folderOf(name)}</span>`}
      ${best && html`<span class="memory__hit" dir="auto"><${Marked} pieces=${plainSnippet(markedPieces(best.text, terms))} /></span>`}
    </a>
  </li>`;
}
