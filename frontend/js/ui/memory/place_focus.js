import { useLayoutEffect, useRef } from "../../lib.js";
import { useApp } from "../context.js";

/**
 * A heading that takes the focus where a link was followed that is gone now, so that the keyboard goes on from there;
 * elsewhere the screen reader hears what is shown, and the focus stays in the list.
 *
 * @param {string} title
 */
export function useLostFocus(title) {
  const { announcer } = useApp();
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const focused = document.activeElement;
    const lost = !focused || focused === document.body || focused.getClientRects().length === 0;
    if (lost) heading.current?.focus({ preventScroll: true });
    else announcer.say(`${title} is shown.`);
  }, []);
  return heading;
}

/**
 * The element of an article's text; the heading of the address is scrolled to once it is there.
 *
 * @param {string} heading  its title, or the path to it
 * @param {readonly string[]} blocks
 */
export function useHeading(heading, blocks) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (!heading) return;
    // The text is put in by an effect of the element itself, which runs before this one.
    const wanted = fold(heading.split(/>|#/).at(-1) ?? "");
    const all = [...(root.current?.querySelectorAll("h1, h2, h3, h4, h5, h6") ?? [])];
    const found = all.find((each) => fold(each.textContent ?? "") === wanted);
    if (!(found instanceof HTMLElement)) return;
    found.tabIndex = -1;
    found.scrollIntoView({ block: "start" });
    if (document.activeElement?.closest(".memory__page")) found.focus({ preventScroll: true });
  }, [heading, blocks]);
  return root;
}

/** @param {string} text */
const fold = (text) => text.trim().toLocaleLowerCase();
