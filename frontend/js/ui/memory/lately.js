/** @import { Summary } from "../../net/memory_api.js" */

import { html, useEffect, useId, useMemo } from "../../lib.js";
import { Excerpts } from "../../state/memory_excerpts.js";
import { articleHref } from "../../state/memory_place.js";
import { ago, folderOf } from "../../text/memory_words.js";

const FEW = 6;

/** How the articles that changed last begin. @param {{articles: readonly Summary[]}} props  the newest first */
export function Lately({ articles }) {
  const id = useId();
  const excerpts = useMemo(() => new Excerpts(), []);
  const newest = articles.slice(0, FEW);
  useEffect(() => void excerpts.load(newest), [articles]);
  return html`<section class="lately" aria-labelledby=${id}>
    <h3 id=${id}>Changed lately</h3>
    <ul>
      ${newest.map(
        (article) =>
          html`<li key=${article.name}><${Beginning} article=${article} words=${excerpts.shown.value.get(article.name) ?? ""} /></li>`,
      )}
    </ul>
  </section>`;
}

/** @param {{article: Summary, words: string}} props */
function Beginning({ article: { modified_at, name, title }, words }) {
  return html`<a class="lately__article" href=${articleHref(name)}>
    <b dir="auto">${title}</b>
    <span class="lately__words" dir="auto">${words}</span>
    <small>${[folderOf(name), ago(modified_at)].filter(Boolean).join(" · ")}</small>
  </a>`;
}
