/** @import { HeldRows } from "../dom/held_rows.js" */
/** @import { ScrollWindow } from "../dom/scroll_window.js" */
/** @import { Part } from "../state/turns.js" */

import { html, useEffect } from "../lib.js";
import { useApp } from "./context.js";
import { ThreadPart, guessHeight, messagesOf } from "./thread_part.js";

/** Parts beyond those in the document whose rendered text is asked for already, on either side. */
const AHEAD = 20;

/**
 * The parts of the conversation that are near what is visible. A reader's own search in the page (Ctrl-F) finds only
 * those; the search in the sidebar finds all. Two thousand messages in the document would take seconds to open.
 *
 * @param {{parts: readonly Part[], view: ScrollWindow, held: HeldRows}} props
 */
export function ThreadList({ parts, view, held }) {
  view.version.value;
  view.arrange(parts.map((part) => ({ key: part.key, guess: guessHeight(part) })));
  useRenderedTexts(parts, view.from, view.to);
  return html`${rowsOf(parts, view, held)}`;
}

/**
 * @param {readonly Part[]} parts
 * @param {ScrollWindow} view
 * @param {HeldRows} held
 */
function rowsOf(parts, view, held) {
  const keys = held.keys();
  /** @type {ReturnType<typeof html>[]} */
  const rows = [];
  let next = 0;
  parts.forEach((part, index) => {
    const near = index >= view.from && index < view.to;
    // The last part is the one that may still grow, and announces what it says.
    if (!near && index < parts.length - 1 && !keys.has(part.key)) return;
    if (index > next) rows.push(html`<${Gap} key=${`gap-${rows.length ? part.key : ""}`} height=${view.extent(next, index)} />`);
    rows.push(html`<${ThreadPart} key=${part.key} part=${part} place=${index + 1} count=${parts.length} view=${view} />`);
    next = index + 1;
  });
  return rows;
}

/** Stands for the parts that are not in the document. @param {{height: number}} props */
function Gap({ height }) {
  return html`<div class="thread__gap" style=${{ height: `${height}px` }}></div>`;
}

/**
 * @param {readonly Part[]} parts
 * @param {number} from
 * @param {number} to
 */
function useRenderedTexts(parts, from, to) {
  const { connected, rendering } = useApp();
  const online = connected.value;
  useEffect(() => {
    if (!online) return;
    rendering.want(parts.slice(Math.max(0, from - AHEAD), to + AHEAD).flatMap(messagesOf));
  }, [parts, from, to, online]);
}
