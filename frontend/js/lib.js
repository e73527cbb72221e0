/** The one place that names the vendored libraries' files. Versions: scripts/vendor.py. */

import { h } from "../vendor/preact-11.2.0.js";
import htm from "../vendor/htm-3.1.1.js";

export { Fragment, createContext, render } from "../vendor/preact-11.2.0.js";
export { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef } from "../vendor/preact-hooks-11.2.0.js";
export { Signal, batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "../vendor/preact-signals-2.11.4.js";

export const html = htm.bind(h);

/** highlight.js is larger than the rest of the page together: it comes with the first code block, or when there is time. */
export async function loadHighlighter() {
  try {
    return (await import("../vendor/highlight-11.12.0.js")).default;
  } catch {
    // Fireside is down just now: the code stays without colours.
    return null;
  }
}
