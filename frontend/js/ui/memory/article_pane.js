/** @import { Memory } from "../../state/memory.js" */
/** @import { Unsaved } from "../../state/memory_edit.js" */

import { html, useEffect, useMemo, useSignal } from "../../lib.js";
import { OpenArticle } from "../../state/memory_article.js";
import { ArticleEdit, unsavedOf } from "../../state/memory_edit.js";
import { listHref } from "../../state/memory_place.js";
import { useApp } from "../context.js";
import { Article } from "./article.js";
import { Back } from "./back.js";
import { Editor } from "./editor.js";
import { History } from "./history.js";
import { MissingArticle } from "./missing_article.js";
import { onReturn } from "./on_return.js";
import { Trouble } from "./trouble.js";

/** @typedef {"read" | "history" | ArticleEdit} Doing */

/**
 * The article of an address: read, edited, or its history.
 *
 * @param {{memory: Memory, name: string, heading: string}} props
 */
export function ArticlePane({ memory, name, heading }) {
  const { announcer, connected } = useApp();
  const article = useMemo(() => new OpenArticle(name), [name]);
  const doing = useSignal(/** @type {Doing} */ ("read"));
  useEffect(() => void article.load(), [article, connected.value, memory.articles.value]);
  useEffect(() => onReturn(() => article.load()), [article]);
  const page = article.page.value;
  const now = doing.value;
  const read = () => (doing.value = "read");
  /** @param {Unsaved} [start] */
  const edit = (start) => {
    const known = article.page.peek() ?? { name, text: "", hash: "" };
    doing.value = new ArticleEdit(known.name, known, start ?? unsavedOf(known.name) ?? undefined);
  };
  const saved = async () => {
    await Promise.all([article.load(), memory.load()]);
    announcer.say("Saved.");
    read();
  };
  if (now instanceof ArticleEdit) {
    return html`<${Editor} edit=${now} title=${page?.title ?? name} onSaved=${saved} onLeave=${read} />`;
  }
  if (now === "history") {
    const restore = (/** @type {string} */ text) =>
      edit({ text, before: page?.text ?? "", before_hash: page?.hash ?? "" });
    return html`<${History}
      name=${page?.name ?? name}
      title=${page?.title ?? name}
      writable=${memory.writable.value}
      onRestore=${restore}
      onLeave=${read}
    />`;
  }
  if (page) {
    return html`<${Article}
      memory=${memory}
      page=${page}
      heading=${heading}
      onEdit=${() => edit()}
      onHistory=${() => (doing.value = "history")}
    />`;
  }
  if (article.phase.value === "missing") {
    return html`<${MissingArticle} article=${article} memory=${memory} onHistory=${() => (doing.value = "history")} />`;
  }
  return html`<div class="memory__column">
    <${Back} href=${listHref} />
    ${article.phase.value === "failed"
      ? html`<${Trouble}
          title="This article cannot be shown"
          words=${article.error.value}
          onRetry=${() => article.retry()}
        />`
      : html`<div class="skeleton" role="status">
          <span class="visually-hidden">Opening ${name}…</span>
          <div class="skeleton__title" aria-hidden="true"></div>
          ${[0, 1, 2, 3].map((row) => html`<div key=${row} class="skeleton__line" aria-hidden="true"></div>`)}
        </div>`}
  </div>`;
}
