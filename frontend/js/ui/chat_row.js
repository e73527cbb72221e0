/** @import { SessionRow } from "../protocol.d.ts" */
/** @import { IconName } from "./icons.js" */

import { html, useId, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { href } from "../state/router.js";
import { useApp } from "./context.js";
import { focusComposer } from "./focus.js";
import { Icon } from "./icons.js";

/** @param {{row: SessionRow}} props */
export function ChatRow({ row }) {
  const renaming = useSignal(false);
  const acting = useSignal(false);
  const opener = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const acts = useId();
  const wasRenaming = useRef(false);
  useLayoutEffect(() => {
    if (wasRenaming.current && !renaming.value) opener.current?.focus();
    wasRenaming.current = renaming.value;
  }, [renaming.value]);
  const rename = () => {
    acting.value = false;
    renaming.value = true;
  };
  const close = () => {
    acting.value = false;
    opener.current?.focus();
  };
  if (renaming.value) return html`<li><${Rename} row=${row} onEnd=${() => (renaming.value = false)} /></li>`;
  return html`<li onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !acting.value) return;
    event.preventDefault();
    close();
  }}>
    <${ChatLink} row=${row}>
      <button
        type="button"
        class="tool chat__more"
        ref=${opener}
        aria-label=${`Options of chat: ${titleOf(row)}`}
        aria-expanded=${acting.value}
        aria-controls=${acts}
        onClick=${() => (acting.value = !acting.value)}
      >
        <${Icon} name="more" />
      </button>
    <//>
    <div id=${acts} hidden=${!acting.value}>
      ${acting.value && html`<${Acts} row=${row} onRename=${rename} onDone=${close} />`}
    </div>
  </li>`;
}

/** @param {SessionRow} row */
const titleOf = (row) => row.title || "New chat";

/** @param {{row: SessionRow, children?: unknown}} props */
function ChatLink({ row, children }) {
  const { drawer, session } = useApp();
  const current = session.id.value === row.id;
  return html`<div class=${`chat ${current ? "chat--current" : ""}`} data-asking=${row.asking}>
    <a href=${href(row.id)} aria-current=${current ? "page" : undefined} onClick=${() => drawer.close()}>
      <span class="chat__title" dir="auto">${titleOf(row)}</span>
      ${row.asking
        ? html`<span class="chat__asking">Asks you</span>`
        : row.running && html`<span class="chat__running" role="img" aria-label="Answering"></span>`}
    </a>
    ${children}
  </div>`;
}

/** @param {{row: SessionRow, onRename: () => void, onDone: () => void}} props */
function Acts({ row, onRename, onDone }) {
  const { connected, transfer, wishes } = useApp();
  /**
   * @param {IconName} icon
   * @param {string} words
   * @param {(event: Event & {currentTarget: HTMLElement}) => void} run
   */
  const act = (icon, words, run) =>
    html`<button
      type="button"
      class="action"
      aria-label=${`${words} chat: ${titleOf(row)}`}
      disabled=${!connected.value}
      onClick=${run}
    >
      <${Icon} name=${icon} />${words}
    </button>`;
  const mark = (/** @type {{pinned?: boolean, archived?: boolean}} */ marks) => {
    wishes.mark(row.id, marks);
    onDone();
  };
  return html`<div class="chat__acts" role="group" aria-label=${`Options of chat: ${titleOf(row)}`}>
    ${act("edit", "Rename", onRename)}
    ${act("pin", row.pinned ? "Unpin" : "Pin", () => mark({ pinned: !row.pinned }))}
    ${act("archive", row.archived ? "Take back" : "Archive", () => {
      wishes.archive(row);
      onDone();
    })}
    ${act("download", "Export", () => {
      void transfer.exportChat(row.id, "markdown");
      onDone();
    })}
    ${act("trash", "Delete", (event) => wishes.remove(row) && focusNeighbour(event.currentTarget))}
  </div>`;
}

/** @param {{row: SessionRow, onEnd: () => void}} props */
function Rename({ row, onEnd }) {
  const { wishes } = useApp();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.select(), []);
  const save = () => {
    const title = field.current?.value.trim() ?? "";
    if (title && title !== row.title) wishes.rename(row.id, title);
    onEnd();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") onEnd();
    else if (event.key === "Enter" && !event.isComposing) save();
    else return;
    event.preventDefault();
  };
  return html`<div class="rename">
    <input ref=${field} aria-label="Title of the chat" dir="auto" value=${row.title} onKeyDown=${onKeyDown} />
    <button type="button" class="tool" aria-label="Keep the title" onClick=${save}><${Icon} name="check" /></button>
    <button type="button" class="tool" aria-label="Leave the title as it was" onClick=${onEnd}><${Icon} name="close" /></button>
  </div>`;
}

/** The row is about to go, and the focus with it. @param {HTMLElement} element  inside the row */
function focusNeighbour(element) {
  const row = element.closest("li");
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling;
  const link = neighbour?.querySelector("a");
  if (link) link.focus();
  else focusComposer();
}
