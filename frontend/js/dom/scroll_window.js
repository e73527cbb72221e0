import { signal } from "../lib.js";

/** What is kept ready beyond the visible part, and how much of it must always be: the difference is a step. */
const READY_PX = 1_300;
const LEAST_PX = 900;
/** What is ready at first, and for how long no more: a chat is seen sooner where the rest comes after its first picture. */
const FIRST_READY_PX = 300;
const FIRST_MS = 80;
/** Before a list is laid out its height is not known; a screen is rarely higher. */
const FIRST_HEIGHT_PX = 1_200;

/** Browsers that cannot hold on to what is visible while something above it changes its height. */
const HOLDS_ON = CSS.supports("overflow-anchor", "auto");

/**
 * Decides which rows of a long list are in the document: those near the visible part. Rows have any height, guessed
 * until they were shown once. The others are stood for by gaps, so that the scroll bar is that of the whole list.
 *
 * @typedef {{key: string, guess: number}} Row  with its height in pixels, roughly
 */
export class ScrollWindow {
  /** Changes whenever other rows are to be shown. */
  version = signal(0);
  from = 0;
  to = 0;

  #box;
  #gap;
  #atEnd;
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {Map<string, number>} */
  #measured = new Map();
  #top = 0;
  #height = FIRST_HEIGHT_PX;
  #width = 0;
  #frame = 0;
  /** Runs as long as no more than the visible part is wanted. */
  #first = 0;
  #observer = new ResizeObserver((entries) => this.#resized(entries));

  /**
   * @param {HTMLElement} box  what scrolls
   * @param {number} gap  between two rows, in pixels
   * @param {() => boolean} atEnd  whether the end is to be shown, wherever the box is scrolled to
   */
  constructor(box, gap, atEnd) {
    this.#box = box;
    this.#gap = gap;
    this.#atEnd = atEnd;
    this.#observer.observe(box);
    box.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#first);
    this.#observer.disconnect();
    this.#box.removeEventListener("scroll", this.#onScroll);
  }

  /** Another list: nothing that was measured holds. */
  clear() {
    this.#measured.clear();
    this.from = this.to = 0;
  }

  /** The rows are these from now on; `from` and `to` say which are to be shown. @param {readonly Row[]} rows */
  arrange(rows) {
    this.#rows = rows;
    this.#fit();
  }

  /** @param {HTMLElement} element  with its row's key as `data-key` */
  watch(element) {
    this.#observer.observe(element);
    return () => this.#observer.unobserve(element);
  }

  /** What the rows from `from` to before `to` take, with the gaps between them. @param {number} from @param {number} to */
  extent(from, to) {
    let sum = 0;
    for (let index = from; index < to; index++) sum += this.#pitch(index);
    return Math.max(0, sum - this.#gap);
  }

  /** Bring a row into the middle of the box. @param {number} index */
  reveal(index) {
    this.#box.scrollTop = this.extent(0, index) + this.#gap + this.#pitch(index) / 2 - this.#height / 2;
    this.look();
  }

  look() {
    this.#top = this.#box.scrollTop;
    if (this.#fit()) this.version.value += 1;
  }

  #onScroll = () => this.look();

  /** @returns {boolean} whether other rows are to be shown */
  #fit() {
    const count = this.#rows.length;
    const top = this.#atEnd() ? this.extent(0, count) - this.#height : this.#top;
    if (this.to === 0 && count > 0) this.#showFirst();
    const [must, ready] = this.#first ? [0, FIRST_READY_PX] : [LEAST_PX, READY_PX];
    const [least, until] = this.#within(top - must, top + this.#height + must);
    if (this.from <= least && this.to >= until && this.to <= count) return false;
    [this.from, this.to] = this.#within(top - ready, top + this.#height + ready);
    return true;
  }

  #showFirst() {
    clearTimeout(this.#first);
    this.#first = setTimeout(() => {
      this.#first = 0;
      this.look();
    }, FIRST_MS);
  }

  /** @param {number} top @param {number} bottom @returns {[number, number]} */
  #within(top, bottom) {
    const count = this.#rows.length;
    let index = 0;
    let end = 0;
    while (index < count - 1 && end + this.#pitch(index) <= top) end += this.#pitch(index++);
    const first = Math.min(index, count);
    while (index < count && end < bottom) end += this.#pitch(index++);
    return [first, index];
  }

  /** @param {number} index */
  #pitch(index) {
    const row = this.#rows[index];
    return row ? (this.#measured.get(row.key) ?? row.guess) + this.#gap : 0;
  }

  /** @param {ResizeObserverEntry[]} entries */
  #resized(entries) {
    let above = 0;
    for (const { target, borderBoxSize } of entries) {
      const element = /** @type {HTMLElement} */ (target);
      if (element === this.#box) this.#boxResized();
      else if (element.isConnected) above += this.#rowResized(element, borderBoxSize[0]?.blockSize ?? 0);
    }
    if (above && !this.#atEnd()) this.#box.scrollTop += above;
    // Rows that came now would be measured in this same frame, which browsers complain about.
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.look());
  }

  #boxResized() {
    this.#height = this.#box.clientHeight;
    // Lines break elsewhere now. Rows that are shown tell their new height by themselves.
    if (this.#width && this.#width !== this.#box.clientWidth) this.#forgetHidden();
    this.#width = this.#box.clientWidth;
  }

  #forgetHidden() {
    const shown = new Set(this.#rows.slice(this.from, this.to).map(({ key }) => key));
    for (const key of this.#measured.keys()) if (!shown.has(key)) this.#measured.delete(key);
  }

  /**
   * @param {HTMLElement} element
   * @param {number} height
   * @returns {number} by how much that moves what is visible, if the browser lets it
   */
  #rowResized(element, height) {
    const { key = "" } = element.dataset;
    const before = this.#measured.get(key) ?? this.#rows.find((row) => row.key === key)?.guess ?? height;
    this.#measured.set(key, height);
    if (HOLDS_ON || element.getBoundingClientRect().bottom > this.#box.getBoundingClientRect().top) return 0;
    return height - before;
  }
}
