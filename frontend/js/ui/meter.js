import { html } from "../lib.js";

/** @param {{label: string, done: number, total: number}} props */
export function Meter({ label, done, total }) {
  return html`<progress class="meter" aria-label=${label} max=${total} value=${Math.min(done, total)}></progress>`;
}
