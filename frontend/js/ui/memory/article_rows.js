/** @import { Summary } from "../../net/memory_api.js" */

import { html, useEffect, useRef, useSignal } from "../../lib.js";
import { articleHref } from "../../state/memory_place.js";
import { count } from "../../text/format.js";
import { ago, exactly, folderOf } from "../../text/memory_words.js";

const PORTION = 80;

/**
 * All articles, a portion at a time: more come as the reader nears their end.
 *
 * @param {{articles: readonly Summary[], current: string}} props
 */
export function ArticleRows({ articles, current }) {
  const byName = useSignal(false);
  const shown = useSignal(PORTION);
  const sorted = byName.value ? [...articles].sort((one, other) => one.title.localeCompare(other.title)) : articles;
  const rest = sorted.length - shown.value;
  const turn = () => {
    byName.value = !byName.value;
    shown.value = PORTION;
  };
  if (articles.length === 0) return html`<p class="memory__none">No articles yet.</p>`;
  return html`<div class="memory__order">
      <span>${count(articles.length)} ${articles.length === 1 ? "article" : "articles"}</span>
      <button type="button" class="action" onClick=${turn}>
        <span class="visually-hidden">Order: </span>${byName.value ? "A to Z" : "Newest first"}
      </button>
    </div>
    <div class="memory__rows">
      <ul>
        ${sorted
          .slice(0, shown.value)
          .map(
            (article) => html`<${Row} key=${article.name} article=${article} current=${article.name === current} />`,
          )}
      </ul>
      ${rest > 0 && html`<${More} key=${shown.value} rest=${rest} onMore=${() => (shown.value += PORTION)} />`}
    </div>`;
}

/** @param {{article: Summary, current: boolean}} props */
function Row({ article: { name, title, modified_at }, current }) {
  return html`<li>
    <a class="memory__row" href=${articleHref(name)} aria-current=${current ? "page" : undefined}>
      <span class="memory__title" dir="auto">${title}</span>
      <span class="memory__detail">
        ${folderOf(name) && html`<span class="memory__folder" dir="auto">${folderOf(name)}</span>`}
        <span title=${exactly(modified_at)}>${ago(modified_at)}</span>
      </span>
    </a>
  </li>`;
}

/** @param {{rest: number, onMore: () => void}} props */
function More({ rest, onMore }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const observer = new IntersectionObserver(([seen]) => seen?.isIntersecting && onMore(), { rootMargin: "600px" });
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  }, []);
  return html`<button type="button" class="action memory__more" ref=${button} onClick=${onMore}>
    Show more (${count(rest)})
  </button>`;
}
