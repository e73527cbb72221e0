import { html } from "../lib.js";

/** A line of which what was found is marked. @param {{pieces: readonly {text: string, marked: boolean}[]}} props */
export function Marked({ pieces }) {
  return pieces.map(({ text, marked }) => (marked ? html`<mark>${text}</mark>` : text));
}
