import { html } from "../lib.js";

const BETWEEN = " · ";

/** Facts with dots between them; a line ends after a fact, not inside of one. @param {{line: string}} props */
export function FactLine({ line }) {
  const facts = line.split(BETWEEN);
  return facts.map((fact, index) => {
    const last = index === facts.length - 1;
    return html`<span class="fact" key=${index}>${fact}${!last && " ·"}</span>${!last && " "}`;
  });
}
