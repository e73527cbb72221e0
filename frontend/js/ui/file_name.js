import { html } from "../lib.js";

/** Shorter names fit into a line of a phone. */
const FITS = 20;
/** Of Latin letters only: cutting others apart could change their shapes and their order. */
const ENDING = /[\w()-]{0,6}\.\w{1,8}$/;

/** The name of a file; where there is no room, its middle is left out rather than its ending. @param {{name: string}} props */
export function FileName({ name }) {
  const ending = name.length > FITS ? (ENDING.exec(name)?.[0] ?? "") : "";
  const start = name.slice(0, name.length - ending.length);
  return html`<span class="file__name" dir="auto" title=${name}><span>${start}</span>${ending && html`<span>${ending}</span>`}</span>`;
}
