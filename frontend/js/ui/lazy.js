import { html, useEffect, useSignal } from "../lib.js";

/**
 * A component whose module is loaded when it is first shown, or asked for by `load`.
 *
 * @template [P=unknown]
 * @typedef {{(props: P): ReturnType<typeof html> | null, load: () => void}} Lazy
 */

/**
 * @template [P=unknown]
 * @param {() => Promise<(props: P) => unknown>} load  imports the module and gives its component
 * @param {{meanwhile?: (() => unknown) | null}} [options]  meanwhile: what is shown in its place; null for nothing
 * @returns {Lazy<P>}
 */
export function lazy(load, { meanwhile = Waiting } = {}) {
  /** @type {((props: P) => unknown) | null} */
  let loaded = null;
  const bring = async () => {
    loaded ??= await load();
  };
  /** @param {P} props */
  function Later(props) {
    const state = useSignal(/** @type {"waiting" | "there" | "failed"} */ (loaded ? "there" : "waiting"));
    useEffect(() => {
      // Not told by `loaded`: that may have come since this was drawn without it.
      if (state.peek() === "there") return;
      bring().then(
        () => (state.value = "there"),
        () => (state.value = "failed"),
      );
    }, []);
    if (state.value === "failed") return html`<${Failed} />`;
    if (loaded && state.value === "there") return html`<${loaded} ...${props} />`;
    return meanwhile && html`<${meanwhile} />`;
  }
  // Early loading is only a favour: showing it is what reports a failure.
  return Object.assign(Later, { load: () => void bring().catch(() => undefined) });
}

function Waiting() {
  return html`<section class="view" aria-busy="true" role="status">
    <span class="visually-hidden">Loading…</span>
    <div class="opening__bones"><span class="bone"></span><span class="bone"></span><span class="bone bone--short"></span></div>
  </section>`;
}

/** Browsers remember that a module could not be had, so nothing less than a reload helps. */
function Failed() {
  return html`<section class="view" role="alert">
    <div class="opening__words">
      <p>This part of the page could not be loaded. Fireside may have stopped, or been updated.</p>
      <button type="button" class="button" onClick=${() => location.reload()}>Reload the page</button>
    </div>
  </section>`;
}
