/** @import { Page } from "../../net/memory_api.js" */
/** @import { Memory } from "../../state/memory.js" */

import { html, useLayoutEffect, useRef, useSignal } from "../../lib.js";
import { BlockView } from "../../dom/block_view.js";
import { dropUnsaved, unsavedOf } from "../../state/memory_edit.js";
import { articleHref, listHref } from "../../state/memory_place.js";
import { ago, exactly, folderOf, renamedWords, wordCount } from "../../text/memory_words.js";
import { useApp } from "../context.js";
import { CopyButton } from "../copy_button.js";
import { Icon } from "../icons.js";
import { ArticleAside } from "./article_aside.js";
import { Back } from "./back.js";
import { GitNote } from "./git_note.js";
import { useHeading, useLostFocus } from "./place_focus.js";
import { MemoryProposal, useSeen } from "./proposal_review.js";

/**
 * One article as it is read.
 *
 * @typedef {object} ArticleProps
 * @property {Memory} memory
 * @property {Page} page
 * @property {string} heading  to begin with; "" for the top
 * @property {() => void} onEdit
 * @property {() => void} onHistory
 */

/** @param {ArticleProps} props */
export function Article({ memory, page, heading, onEdit, onHistory }) {
  const title = useLostFocus(page.title);
  const body = useHeading(heading, page.blocks);
  const proposals = useSeen(memory.proposals.value.filter(({ article }) => article === page.name));
  return html`<article class="memory__two" aria-label=${page.title} data-testid="article">
    <div class="memory__column">
      <${Back} href=${listHref} />
      <header class="article__head">
        ${folderOf(page.name) && html`<p class="article__folder" dir="auto">${folderOf(page.name)}</p>`}
        <h2 tabindex="-1" ref=${title} dir="auto">${page.title}</h2>
        <p class="article__meta">
          <span title=${exactly(page.modified_at)}>Changed ${ago(page.modified_at)}</span> · ${wordCount(page.text)}
        </p>
        <${Acts} memory=${memory} page=${page} onEdit=${onEdit} onHistory=${onHistory} />
      </header>
      <${GitNote} memory=${memory} />
      <${Unsaved} name=${page.name} onEdit=${onEdit} />
      ${proposals.map(
        (proposal) =>
          html`<${MemoryProposal} key=${proposal.id} proposal=${proposal} onSettled=${() => memory.load()} />`,
      )}
      <${Facts} fields=${page.fields} title=${page.title} />
      <${Body} root=${body} blocks=${page.blocks} />
    </div>
    <${ArticleAside} page=${page} />
  </article>`;
}

/** @param {Omit<ArticleProps, "heading">} props */
function Acts({ memory, page, onEdit, onHistory }) {
  const { announcer, notices, palette, router } = useApp();
  const busy = useSignal(false);
  const remove = async () => {
    busy.value = true;
    const trouble = await memory.remove(page.name, page.hash);
    busy.value = false;
    if (trouble) return notices.add(trouble);
    const putBack = async () => {
      const failed = await memory.putBack(page.name, page.text);
      if (failed) notices.add(failed);
      else announcer.say(`${page.title} is back.`);
    };
    notices.offerUndo(`“${page.title}” is deleted. Its history stays.`, () => void putBack());
    // Only where the reader has not gone on to something else meanwhile.
    if (router.view.peek() === "memory") location.hash = listHref;
    return undefined;
  };
  const rename = () => palette.ask("New name of this article", page.name, (name) => void renameTo(name));
  const renameTo = async (/** @type {string} */ name) => {
    busy.value = true;
    const renamed = await memory.rename(page.name, name, page.hash);
    busy.value = false;
    if (typeof renamed === "string") return notices.add(renamed);
    notices.tell(renamedWords(renamed));
    if (router.view.peek() === "memory") location.hash = articleHref(renamed.name);
    return undefined;
  };
  return html`<div class="article__acts">
    ${memory.writable.value &&
    html`<button type="button" class="action" data-act="edit" onClick=${onEdit}><${Icon} name="edit" />Edit</button>`}
    ${memory.writable.value &&
    html`<button type="button" class="action" disabled=${busy.value} onClick=${rename}>
      <${Icon} name="file" />Rename
    </button>`}
    <button type="button" class="action" data-act="history" onClick=${onHistory}><${Icon} name="undo" />History</button>
    <${CopyButton} label="Copy as Markdown" text=${() => page.text} />
    ${memory.writable.value &&
    html`<button type="button" class="action" disabled=${busy.value} onClick=${remove}>
      <${Icon} name="trash" />Delete
    </button>`}
  </div>`;
}

/** A text that was typed here and never saved. @param {{name: string, onEdit: () => void}} props */
function Unsaved({ name, onEdit }) {
  const gone = useSignal(false);
  if (gone.value || !unsavedOf(name)) return null;
  const drop = () => {
    dropUnsaved(name);
    gone.value = true;
  };
  return html`<div class="memory__unsaved" role="note">
    <p>You have changes to this article that are not saved.</p>
    <button type="button" class="button" onClick=${onEdit}>Go on editing</button>
    <button type="button" class="button" onClick=${drop}>Drop them</button>
  </div>`;
}

/** What the front matter says. @param {{fields: Page["fields"], title: string}} props */
function Facts({ fields, title }) {
  const shown = Object.entries(fields).filter(
    ([key, value]) => value.length > 0 && !(key === "title" && value === title),
  );
  if (shown.length === 0) return null;
  return html`<dl class="article__facts">
    ${shown.map(([key, value]) => {
      const values = typeof value === "string" ? [value] : value;
      return html`<div key=${key}>
        <dt>${key}</dt>
        <dd dir="auto">${values.join(", ")}</dd>
      </div>`;
    })}
  </dl>`;
}

/** @param {{root: {current: HTMLElement | null}, blocks: readonly string[]}} props */
function Body({ root, blocks }) {
  const view = useRef(/** @type {BlockView | null} */ (null));
  useLayoutEffect(() => {
    if (!root.current) return;
    view.current ??= new BlockView(root.current);
    view.current.show(blocks, blocks.length);
  }, [blocks]);
  return html`<div class="markdown article__body" ref=${root}></div>
    ${blocks.length === 0 && html`<p class="memory__none">This article is empty.</p>`}`;
}
