import { html } from "../lib.js";
import { diffLines } from "../text/diff_lines.js";

const SHOWN_LINES = 2_000;

/** A unified diff, with signs and colours. @param {{text: string, label: string}} props */
export function Diff({ text, label }) {
  const lines = diffLines(text);
  const rest = lines.length - SHOWN_LINES;
  return html`<div class="diff" role="region" tabindex="0" aria-label=${label}>
    <div class="diff__lines">
      ${lines.slice(0, SHOWN_LINES).map(({ kind, text }) => {
        const tag = { added: "ins", removed: "del" }[String(kind)] ?? "div";
        return html`<${tag} class=${`diff__line diff__line--${kind}`}><${Line} kind=${kind} text=${text || " "} /><//>`;
      })}
      ${rest > 0 && html`<div class="diff__line diff__line--note">… ${rest} more lines</div>`}
    </div>
  </div>`;
}

/** The sign stands in a column of its own. @param {import("../text/diff_lines.js").DiffLine} props */
function Line({ kind, text }) {
  if (kind === "place" || kind === "note") return text;
  return html`<span class="diff__sign">${text.slice(0, 1)}</span>${text.slice(1)}`;
}
