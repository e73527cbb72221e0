const KEPT_MS = 4_000;
const SPOKEN_LIMIT = 600;

/**
 * Speaks to screen readers: what a turn does, and each block of an answer once it is finished. The streamed
 * text itself is not live, it would be read again with every word.
 */
export class Announcer {
  /** @type {(text: string) => void} */
  #speak;

  /** @param {Document} page */
  constructor(page) {
    const { ariaNotify } = /** @type {{ariaNotify?: (text: string) => void}} */ (page);
    this.#speak = ariaNotify ? ariaNotify.bind(page) : liveRegion(page);
  }

  /** @param {string} text */
  say(text) {
    this.#speak(text.length > SPOKEN_LIMIT ? `${text.slice(0, SPOKEN_LIMIT)}…` : text);
  }
}

/** For browsers without `ariaNotify`: an unseen live region that gets each text for a moment. @param {Document} page */
function liveRegion(page) {
  const region = page.createElement("div");
  region.className = "visually-hidden";
  region.setAttribute("role", "status");
  region.setAttribute("aria-label", "Announcements");
  page.body.append(region);
  return (/** @type {string} */ text) => {
    const line = page.createElement("p");
    line.textContent = text;
    region.append(line);
    setTimeout(() => line.remove(), KEPT_MS);
  };
}
