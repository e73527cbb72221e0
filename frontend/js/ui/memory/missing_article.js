/** @import { Memory } from "../../state/memory.js" */
/** @import { OpenArticle } from "../../state/memory_article.js" */

import { html, useEffect, useSignal } from "../../lib.js";
import { askHistory } from "../../net/memory_api.js";
import { articleHref, listHref, newHref } from "../../state/memory_place.js";
import { Back } from "./back.js";
import { useLostFocus } from "./place_focus.js";

/**
 * The address names an article that is not there: those that may be meant, and the way to write it.
 *
 * @param {{article: OpenArticle, memory: Memory, onHistory: () => void}} props
 */
export function MissingArticle({ article, memory, onHistory }) {
  const { name } = article;
  const heading = useLostFocus(`There is no article ${name}`);
  const near = article.near.value;
  return html`<div class="memory__column" data-testid="missing">
    <${Back} href=${listHref} />
    <h2 tabindex="-1" ref=${heading}>No article “<bdi>${name}</bdi>”</h2>
    <p>It was not written yet, or was deleted or renamed. Nothing else was changed.</p>
    ${near.length > 0 &&
    html`<p>Do you mean one of these?</p>
      <ul class="memory__near">
        ${near.map((each) => html`<li key=${each}><a href=${articleHref(each)} dir="auto">${each}</a></li>`)}
      </ul>`}
    <div class="memory__acts">
      ${memory.writable.value && html`<a class="button button--go" href=${newHref(name)}>Write it</a>`}
      <${OldVersions} name=${name} onHistory=${onHistory} />
    </div>
  </div>`;
}

/** @param {{name: string, onHistory: () => void}} props */
function OldVersions({ name, onHistory }) {
  const deleted = useSignal(false);
  useEffect(() => {
    askHistory(name).then(
      (commits) => (deleted.value = commits.length > 0),
      // Without a history there is nothing to offer.
      () => undefined,
    );
  }, [name]);
  return deleted.value && html`<button type="button" class="button" onClick=${onHistory}>See its history</button>`;
}
