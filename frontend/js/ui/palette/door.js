import { html, useLayoutEffect, useRef } from "../../lib.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { lazy } from "../lazy.js";

const Contents = lazy(async () => (await import("./palette.js")).PaletteContents, { meanwhile: Meanwhile });

/** What the field is, with and without the rest. @param {string} [label]  of a question, instead of a search */
export const paletteInput = (label) => ({
  class: "palette__input",
  type: "text",
  "aria-label": label ?? "Search chats, memory and actions",
  placeholder: label ?? "Search everything…",
  autocomplete: "off",
  autocapitalize: "off",
  spellcheck: false,
  dir: "auto",
});

/** The palette. What is in it is loaded when it is first opened, or when there is time. */
export function PaletteDialog() {
  const { palette } = useApp();
  return palette.open.value ? html`<${Opened} />` : null;
}

/** Load it before it is wanted. */
export function preparePalette() {
  Contents.load();
}

function Opened() {
  const { palette } = useApp();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      // It is taken out of the page while it is open, so the browser does not give the focus back.
      element?.close();
      if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
    };
  }, []);
  const onClick = (/** @type {MouseEvent} */ event) => {
    if (event.target === dialog.current) palette.close();
  };
  return html`<dialog
    class="palette"
    ref=${dialog}
    aria-label="Search and actions"
    onClick=${onClick}
    onCancel=${(/** @type {Event} */ event) => (event.preventDefault(), palette.close())}
  >
    <${Contents} />
  </dialog>`;
}

/** A field that takes what is typed before the rest is there. */
function Meanwhile() {
  const { palette } = useApp();
  const label = palette.question.value?.label;
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  return html`<div class="palette__box" aria-busy="true">
    <div class="palette__line">
      <${Icon} name="search" />
      <input
        ref=${field}
        ...${paletteInput(label)}
        value=${palette.query.value}
        onInput=${() => palette.type(field.current?.value ?? "")}
      />
    </div>
  </div>`;
}
