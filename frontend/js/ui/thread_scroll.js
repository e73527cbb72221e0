/** @import { Signal } from "../lib.js" */

import { useEffect, useLayoutEffect, useSignal, useSignalEffect } from "../lib.js";
import { HeldRows } from "../dom/held_rows.js";
import { ScrollFollower } from "../dom/scroll_follower.js";
import { ScrollWindow } from "../dom/scroll_window.js";
import { useApp } from "./context.js";

/**
 * What moves the thread and what decides which of its messages are in the document.
 *
 * @typedef {object} Panes
 * @property {HTMLElement} box
 * @property {ScrollFollower} follower
 * @property {ScrollWindow} view
 * @property {HeldRows} held
 */

/**
 * @param {{current: HTMLElement | null}} box  what scrolls
 * @param {{current: HTMLElement | null}} column  what grows in it
 * @param {string | undefined} newest  another value means that the reader has asked something
 * @returns {Signal<Panes | null>} null before the first layout
 */
export function useScrolling(box, column, newest) {
  const { session } = useApp();
  const panes = useSignal(/** @type {Panes | null} */ (null));
  useLayoutEffect(() => {
    if (!box.current || !column.current) return undefined;
    const follower = new ScrollFollower(box.current, column.current);
    const gap = Number.parseFloat(getComputedStyle(column.current).rowGap) || 0;
    const view = new ScrollWindow(box.current, gap, () => follower.atEnd.peek());
    const held = new HeldRows(column.current);
    panes.value = { box: box.current, follower, view, held };
    return () => [follower, view, held].forEach((part) => part.stop());
  }, []);
  useSignalEffect(() => {
    const shown = session.view.value;
    if (shown !== "opening" && shown !== "new") {
      panes.value?.follower.wake();
      return;
    }
    panes.value?.held.clear();
    panes.value?.view.clear();
    if (shown === "new") panes.value?.follower.rest();
    else panes.value?.follower.jump();
  });
  useEffect(() => {
    if (newest) panes.peek()?.follower.jump();
  }, [newest]);
  return panes;
}
