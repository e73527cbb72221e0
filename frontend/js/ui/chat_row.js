/** @import { SessionRow } from "../protocol.d.ts" */

import { html, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { href } from "../state/router.js";
import { useApp } from "./context.js";
import { focusComposer } from "./focus.js";
import { Icon } from "./icons.js";

/** @param {{row: SessionRow}} props */
export function ChatRow({ row }) {
  const asking = useSignal(false);
  const opener = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (wasAsking.current && !asking.value) opener.current?.focus();
    wasAsking.current = asking.value;
  }, [asking.value]);
  return html`<li>
    ${asking.value
      ? html`<${DeleteQuestion} row=${row} onKeep=${() => (asking.value = false)} />`
      : html`<${ChatLink} row=${row} opener=${opener} onDelete=${() => (asking.value = true)} />`}
  </li>`;
}

/** @param {SessionRow} row */
const titleOf = (row) => row.title || "New chat";

/** @param {{row: SessionRow, opener: {current: HTMLButtonElement | null}, onDelete: () => void}} props */
function ChatLink({ row, opener, onDelete }) {
  const { connected, drawer, session } = useApp();
  const current = session.id.value === row.id;
  return html`<div class=${`chat ${current ? "chat--current" : ""}`}>
    <a href=${href(row.id)} aria-current=${current ? "page" : undefined} onClick=${() => drawer.close()}>
      <span class="chat__title" dir="auto">${titleOf(row)}</span>
      ${row.running && html`<span class="chat__running" role="img" aria-label="Answering"></span>`}
    </a>
    <button
      type="button"
      class="tool chat__delete"
      ref=${opener}
      aria-label=${`Delete chat: ${titleOf(row)}`}
      disabled=${!connected.value}
      onClick=${onDelete}
    >
      <${Icon} name="trash" />
    </button>
  </div>`;
}

/** @param {{row: SessionRow, onKeep: () => void}} props */
function DeleteQuestion({ row, onKeep }) {
  const { client } = useApp();
  const keep = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useLayoutEffect(() => keep.current?.focus(), []);
  const remove = (/** @type {Event & {currentTarget: HTMLElement}} */ event) => {
    if (client.remove(row.id)) focusNeighbour(event.currentTarget);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onKeep();
  };
  return html`<div class="ask" role="alertdialog" aria-label=${`Delete chat: ${titleOf(row)}?`} onKeyDown=${onKeyDown}>
    <p><b dir="auto">${titleOf(row)}</b> and its messages will be gone for good.</p>
    <div class="ask__buttons">
      <button type="button" class="button button--bad" onClick=${remove}>Delete</button>
      <button type="button" class="button" ref=${keep} onClick=${onKeep}>Keep</button>
    </div>
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
