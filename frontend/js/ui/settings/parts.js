/** @import { Listing as ListingType } from "../../state/settings_listing.js" */
/** @import { IconName } from "../icons.js" */

import { html, useEffect, useLayoutEffect, useMemo, useRef, useSignal } from "../../lib.js";
import { Listing } from "../../state/settings_listing.js";
import { codePieces } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { CopyButton } from "../copy_button.js";
import { Icon } from "../icons.js";

/**
 * What is read when a section opens, and again when Fireside comes back after it could not be read.
 *
 * @template T
 * @param {() => Promise<T>} read
 * @returns {ListingType<T>}
 */
export function useListing(read) {
  const { engine } = useApp();
  const listing = useMemo(() => new Listing(read), []);
  const { value: reachable } = engine.reachable;
  useEffect(() => void listing.load(), []);
  useEffect(() => {
    if (reachable && listing.error.peek()) void listing.load();
  }, [reachable]);
  return listing;
}

/** @param {{listing: ListingType<any>, what: string, children: (value: any) => unknown}} props  what: in the error */
export function Loaded({ listing, what, children }) {
  const { value } = listing.value;
  const error = listing.error.value;
  return html`${error && html`<${LoadError} listing=${listing} words=${value ? error : `${what} cannot be read. ${error}`} />`}
  ${value !== null && children(value)}
  ${value === null && !error && html`<${Skeleton} />`}`;
}

/** @param {{listing: ListingType<any>, words: string}} props */
function LoadError({ listing, words }) {
  return html`<div class="set__error" role="alert">
    <${Icon} name="warning" />
    <p>${words}</p>
    <button type="button" class="button" disabled=${listing.busy.value} onClick=${() => listing.load()}>Try again</button>
  </div>`;
}

function Skeleton() {
  return html`<div class="set__skeleton" role="status">
    <span class="visually-hidden">Loading…</span>
    <span class="set__bone"></span><span class="set__bone"></span><span class="set__bone"></span>
  </div>`;
}

/** @param {{icon: IconName, children: unknown}} props */
export function Empty({ icon, children }) {
  return html`<p class="set__empty"><${Icon} name=${icon} /><span>${children}</span></p>`;
}

/** Words with code in them. @param {{words: string}} props */
export function Words({ words }) {
  return codePieces(words).map(({ text, code }) => (code ? html`<code>${text}</code>` : text));
}

/**
 * A button that asks in its place before it acts.
 *
 * @typedef {object} ConfirmProps
 * @property {string} label
 * @property {string} about  what it is about, for screen readers
 * @property {string} question
 * @property {string} yes
 * @property {string} [no]
 * @property {boolean} [disabled]
 * @property {() => void} [onAsk]  it asks now
 * @property {() => unknown} onYes
 *
 * @param {ConfirmProps} props
 */
export function Confirm({ label, about, question, yes, no = "Keep it", disabled = false, onAsk, onYes }) {
  const asking = useSignal(false);
  const opener = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const leave = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const was = useRef(false);
  useLayoutEffect(() => {
    if (asking.value) leave.current?.focus();
    else if (was.current) opener.current?.focus();
    was.current = asking.value;
  }, [asking.value]);
  if (!asking.value) {
    return html`<button
      type="button"
      class="button"
      ref=${opener}
      aria-label=${`${label}: ${about}`}
      disabled=${disabled}
      onClick=${() => ((asking.value = true), onAsk?.())}
    >
      ${label}
    </button>`;
  }
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    asking.value = false;
  };
  const act = async (/** @type {Event & {currentTarget: HTMLElement}} */ { currentTarget: button }) => {
    const [list, view] = [button.closest("ul"), button.closest(".view")];
    asking.value = false;
    await onYes();
    focusIfLost(() => list?.querySelector("button") ?? view?.querySelector("h2"));
  };
  return html`<span class="confirm" role="group" aria-label=${question} onKeyDown=${onKeyDown}>
    <span class="confirm__question">${question}</span>
    <button type="button" class="button button--bad" onClick=${act}>${yes}</button>
    <button type="button" class="button" ref=${leave} onClick=${() => (asking.value = false)}>${no}</button>
  </span>`;
}

/**
 * What had the focus may be gone, and the keyboard would begin at the top again.
 *
 * @param {() => HTMLElement | null | undefined} next  looked for when the page has been drawn
 */
export function focusIfLost(next) {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const element = next();
    if (element && element.tabIndex < 0) element.tabIndex = -1;
    element?.focus();
  });
}

/** The button that opens the form of an entry of a list, or of a new one. @param {string | null} name */
export function opener(name) {
  const buttons = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".row__acts button"))];
  const add = /** @type {HTMLElement | null} */ (document.querySelector(".set .add"));
  return buttons.find((button) => button.getAttribute("aria-label") === `Edit: ${name}`) ?? add;
}

/** Text of several lines as it has to be typed, with a button that copies it. @param {{text: string, label: string}} props */
export function Snippet({ text, label }) {
  return html`<div class="snippet" role="region" aria-label=${label}>
    <pre tabindex="0"><code>${text}</code></pre>
    <${CopyButton} text=${() => text} label=${`Copy ${label}`} />
  </div>`;
}
