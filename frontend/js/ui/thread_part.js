/** @import { ScrollWindow } from "../dom/scroll_window.js" */
/** @import { MessageModel } from "../state/message.js" */
/** @import { Part } from "../state/turns.js" */

import { html, useLayoutEffect, useRef } from "../lib.js";
import { Answer } from "./answer.js";
import { Prompt } from "./prompt.js";
import { SummaryDivider } from "./summary_divider.js";

const LINE_PX = 26;
const LINE_CHARACTERS = 80;
const AROUND_PX = 60;
/** Long answers are mostly short lines: code, lists and tables. */
const LINES_FOR_TEXT = 1.4;

/** The messages of a part. @param {Part} part @returns {readonly MessageModel[]} */
export function messagesOf(part) {
  if (part.kind === "prompt") return [part.message];
  return part.kind === "answer" ? part.steps : [];
}

/** About how high a part will be, in pixels, from what costs nothing to know. @param {Part} part */
export function guessHeight(part) {
  const characters = messagesOf(part).reduce((sum, { text }) => sum + text.length, 0);
  return AROUND_PX + LINE_PX * Math.ceil((LINES_FOR_TEXT * characters) / LINE_CHARACTERS);
}

/**
 * One row of the thread.
 *
 * @param {{part: Part, place: number, count: number, view: ScrollWindow}} props  place: counted from 1
 */
export function ThreadPart({ part, place, count, view }) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const raw = messagesOf(part).some((message) => !message.rendered.value);
  useLayoutEffect(() => (root.current ? view.watch(root.current) : undefined), [view]);
  useLayoutEffect(() => {
    // Only some messages are in the document: these say where they are among all.
    const article = root.current?.querySelector(":scope > article");
    article?.setAttribute("aria-posinset", String(place));
    article?.setAttribute("aria-setsize", String(count));
  }, [place, count, raw]);
  return html`<div class="thread__row" data-key=${part.key} ref=${root}>
    ${raw ? html`<${RawPart} part=${part} />` : html`<${PartView} part=${part} />`}
  </div>`;
}

/** @param {{part: Part}} props */
function PartView({ part }) {
  switch (part.kind) {
    case "prompt":
      return html`<${Prompt} model=${part.message} />`;
    case "answer":
      return html`<${Answer} steps=${part.steps} />`;
    default:
      return html`<${SummaryDivider} summary=${part.summary} />`;
  }
}

/** A part whose rendered text is on its way: its Markdown as it was written. @param {{part: Part}} props */
function RawPart({ part }) {
  const asked = part.kind === "prompt";
  const text = messagesOf(part).map((message) => message.text).join("\n\n");
  return html`<article
    class=${`message ${asked ? "message--user" : "message--answer"}`}
    aria-label=${asked ? "You" : "Fireside"}
    data-raw
  >
    <div class=${asked ? "bubble" : ""}><p class="plain" dir="auto">${text}</p></div>
  </article>`;
}
