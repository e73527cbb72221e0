/** @import { View } from "../state/router.js" */

import { html, useLayoutEffect, useRef } from "../lib.js";
import { placeHref } from "../state/router.js";

/**
 * The sections of a view, of which one is open.
 *
 * @param {{
 *   view: View, label: string, open: string, sections: readonly {place: string, title: string}[],
 *   notes?: Readonly<Record<string, string>>,
 * }} props  notes: a word behind a title
 */
export function Sections({ view, label, open, sections, notes = {} }) {
  const nav = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    // On a narrow window the row of sections is scrolled sideways.
    const current = nav.current?.querySelector("[aria-current]")?.parentElement;
    if (nav.current && current) nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - 40;
  }, [open]);
  return html`<nav class="sections" aria-label=${label} ref=${nav}>
    <ul>
      ${sections.map(
        ({ place, title }) => html`<li key=${place}>
          <a href=${placeHref(view, place)} aria-current=${place === open ? "page" : undefined}>
            ${title}${notes[place] && html`${" "}<small class="sections__note">${notes[place]}</small>`}
          </a>
        </li>`,
      )}
    </ul>
  </nav>`;
}
