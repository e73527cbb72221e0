import { signal } from "../lib.js";

const NEAR_END_PX = 24;

/** Keeps a scrolled element at its end while it grows, but only as long as the reader stays there. */
export class ScrollFollower {
  atEnd = signal(true);

  #element;
  #lastTop = 0;
  #resting = false;
  #observer = new ResizeObserver(() => this.#settle());

  /**
   * @param {HTMLElement} element  the one that scrolls
   * @param {HTMLElement} content  what grows in it
   */
  constructor(element, content) {
    this.#element = element;
    this.#observer.observe(element);
    this.#observer.observe(content);
    element.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  stop() {
    this.#observer.disconnect();
    this.#element.removeEventListener("scroll", this.#onScroll);
  }

  /** There is nothing to follow: what is shown is read from its start. */
  rest() {
    this.#resting = true;
    this.atEnd.value = true;
    this.#element.scrollTop = 0;
  }

  /** There is something to follow now. */
  wake() {
    if (this.#resting) this.jump();
  }

  jump() {
    this.#resting = false;
    this.atEnd.value = true;
    this.#element.scrollTop = this.#element.scrollHeight;
  }

  /** The reader goes elsewhere. */
  leave() {
    this.#resting = false;
    this.atEnd.value = false;
  }

  /** Whether the reader, wherever they went, is at the end all the same. */
  look() {
    if (!this.#resting) this.atEnd.value = this.#distance() <= 1;
  }

  #settle() {
    if (this.#resting) return;
    if (this.atEnd.peek()) this.jump();
    else this.look();
  }

  #onScroll = () => {
    if (this.#resting) return;
    const top = this.#element.scrollTop;
    const distance = this.#distance();
    // The smallest move up is the reader's wish to stay; coming back near the end is a wish to follow.
    if (top < this.#lastTop && distance > 1) this.atEnd.value = false;
    else if (distance <= NEAR_END_PX) this.atEnd.value = true;
    this.#lastTop = top;
  };

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.#element;
    return scrollHeight - scrollTop - clientHeight;
  }
}
