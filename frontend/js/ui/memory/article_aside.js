/** @import { Page } from "../../net/memory_api.js" */

import { html } from "../../lib.js";
import { articleHref, newHref } from "../../state/memory_place.js";

const MIN_HEADINGS = 3;

/**
 * What belongs to an article: its headings, who links here, and what is still to be written.
 *
 * @param {{page: Page}} props
 */
export function ArticleAside({ page }) {
  const sections = page.headings.filter(({ level, title }) => level > 1 && title);
  const from = unique(page.inbound, ({ article }) => article);
  const missing = unique(
    page.outbound.filter(({ article, broken }) => article === null && broken),
    ({ target }) => target.toLowerCase(),
  );
  if (sections.length < MIN_HEADINGS && from.length === 0 && missing.length === 0) return null;
  return html`<aside class="article__aside" aria-label="About this article">
    ${sections.length >= MIN_HEADINGS &&
    html`<${Part} title="On this page">
      ${sections.map(
        ({ level, path, title }) =>
          html`<li key=${path} class=${level > 2 ? "article__deep" : ""}>
            <a href=${articleHref(page.name, path)} dir="auto">${title}</a>
          </li>`,
      )}
    <//>`}
    ${from.length > 0 &&
    html`<${Part} title="Linked from">
      ${from.map(
        ({ article, title }) =>
          html`<li key=${article}><a href=${articleHref(article)} dir="auto">${title}</a></li>`,
      )}
    <//>`}
    ${missing.length > 0 &&
    html`<${Part} title="Not written yet">
      ${missing.map(
        ({ target }) =>
          html`<li key=${target}>
            <a class="wikilink wikilink--broken" href=${newHref(target)} dir="auto">${target}</a>
          </li>`,
      )}
    <//>`}
  </aside>`;
}

/** @param {{title: string, children?: any}} props */
function Part({ title, children }) {
  return html`<section>
    <h3>${title}</h3>
    <ul>
      ${children}
    </ul>
  </section>`;
}

/**
 * @template T
 * @param {readonly T[]} all
 * @param {(each: T) => string} key
 */
function unique(all, key) {
  return [...new Map(all.map((each) => [key(each), each])).values()];
}
