import { html } from "../../lib.js";
import { useApp } from "../context.js";
import { lazy } from "../lazy.js";

const Palette = lazy(async () => (await import("./palette.js")).PaletteDialog, { quiet: true });

/** The palette, which is loaded when it is first opened, or when there is time. */
export function PaletteDialog() {
  const { palette } = useApp();
  return palette.open.value ? html`<${Palette} />` : null;
}

/** Load it before it is wanted. */
export function preparePalette() {
  Palette.load();
}
