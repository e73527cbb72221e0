/** @import { Group, Row } from "./rows.js" */

import { html, useComputed, useId, useLayoutEffect, useRef } from "../../lib.js";
import { statusWords } from "../../text/palette_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { listKeys } from "../list_keys.js";
import { paletteInput } from "./door.js";
import { groupsOf } from "./rows.js";
import { Option } from "./option.js";

const PAGE = 8;

/** Everything by its name: chats, places, actions, and what was said or remembered anywhere. */
export function PaletteContents() {
  const { palette } = useApp();
  return palette.question.value ? html`<${Asked} />` : html`<${Finder} />`;
}

/** A line of text that an action needs. */
function Asked() {
  const { palette } = useApp();
  const question = palette.question.value;
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const send = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    palette.close();
    question?.answer(text);
  };
  return html`<form class="palette__box" onSubmit=${send}>
    <label class="palette__line">
      <span class="palette__label">${question?.label}</span>
      <input ref=${field} class="palette__input" dir="auto" maxlength="200" autocomplete="off" defaultValue=${palette.query.peek()} />
    </label>
    <p class="palette__foot"><kbd>Enter</kbd> saves <kbd>Esc</kbd> leaves it as it is</p>
  </form>`;
}

function Finder() {
  const app = useApp();
  const { palette } = app;
  const list = useId();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const groups = useComputed(() => groupsOf(app));
  const rows = groups.value.flatMap((group) => group.rows);
  const at = Math.max(0, rows.findIndex((row) => row.key === palette.active.value));
  const active = rows[at];
  useLayoutEffect(() => field.current?.focus(), []);
  useLayoutEffect(() => {
    if (active) document.getElementById(optionId(list, active))?.scrollIntoView({ block: "nearest" });
  }, [active?.key]);
  const take = (/** @type {Row | undefined} */ row) => {
    if (!row) return;
    palette.close();
    app.drawer.close();
    row.run();
  };
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowDown: () => move(at + 1, true),
    ArrowUp: () => move(at - 1, true),
    PageDown: () => move(at + PAGE, false),
    PageUp: () => move(at - PAGE, false),
    Enter: () => take(active),
  };
  const move = (/** @type {number} */ to, /** @type {boolean} */ round) => {
    const end = rows.length - 1;
    const next = round ? (to + rows.length) % rows.length : Math.min(Math.max(to, 0), end);
    palette.active.value = rows[next]?.key ?? "";
  };
  const onKeyDown = listKeys(keys, rows.length > 0);
  return html`<div class="palette__box">
    <div class="palette__line">
      <${Icon} name="search" />
      <input
        ref=${field}
        ...${paletteInput()}
        role="combobox"
        aria-expanded="true"
        aria-controls=${list}
        aria-autocomplete="list"
        aria-activedescendant=${active && optionId(list, active)}
        enterkeyhint="go"
        value=${palette.query.value}
        onInput=${() => palette.type(field.current?.value ?? "")}
        onKeyDown=${onKeyDown}
      />
      <button type="button" class="tool" aria-label="Close" onClick=${() => palette.close()}><${Icon} name="close" /></button>
    </div>
    <div class="palette__list" id=${list} role="listbox" aria-label="Found">
      ${groups.value.map((group) => html`<${GroupView} key=${group.title} list=${list} group=${group} active=${active} onTake=${take} />`)}
    </div>
    <${State} rows=${rows.length} />
    <p class="palette__foot" aria-hidden="true"><kbd>↑</kbd><kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</p>
  </div>`;
}

/** @param {string} list @param {Row} row */
const optionId = (list, row) => `${list}-${row.key}`;

/** @param {{list: string, group: Group, active: Row | undefined, onTake: (row: Row) => void}} props */
function GroupView({ list, group, active, onTake }) {
  const id = useId();
  return html`<div role="group" aria-labelledby=${id}>
    <div class="palette__group" id=${id} role="presentation">${group.title}</div>
    ${group.rows.map(
      (row) => html`<${Option} key=${row.key} id=${optionId(list, row)} row=${row} chosen=${row.key === active?.key} onTake=${() => onTake(row)} />`,
    )}
  </div>`;
}

/** How the search goes, in words and for screen readers. @param {{rows: number}} props */
function State({ rows }) {
  const { connected, palette } = useApp();
  const { search } = palette;
  const busy = search.busy.value;
  const failed = search.failed.value;
  const note = search.note.value;
  const query = palette.query.value.trim();
  const offline = !connected.value && "Fireside is not reachable, so only titles known here are searched.";
  const words = offline || (failed ? `The search failed. ${note}` : busy ? "Looking…" : rows === 0 ? `Nothing has “${query}” in it.` : note);
  return html`${query &&
    words &&
    html`<p class=${`palette__state ${failed || offline ? "palette__state--bad" : ""}`}>
      ${failed || offline ? html`<${Icon} name="warning" />` : null}<span dir="auto">${words}</span>
      ${failed && html`<button type="button" class="button" onClick=${() => search.again()}>Try again</button>`}
    </p>`}
    <p class="visually-hidden" role="status">${query ? statusWords(rows, { busy, failed, note }) : ""}</p>`;
}
