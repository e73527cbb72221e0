import { html, useSignal } from "../../lib.js";
import { SNIPPETS } from "../../text/snippets.js";
import { useApp } from "../context.js";
import { CopyButton } from "../copy_button.js";
import { Choices } from "./fields.js";
import { Snippet } from "./parts.js";

/** The addresses for other programs, and what to paste into them. */
export function Access() {
  const { engine } = useApp();
  const which = useSignal("openai");
  const base = location.origin;
  const model = engine.current.value?.engine.model?.id ?? "default";
  const shown = SNIPPETS.find(({ id }) => id === which.value) ?? SNIPPETS[0];
  return html`<section class="set__part" aria-labelledby="access">
    <h3 id="access">Use Fireside from other programs</h3>
    <dl class="pairlist">
      <dt>OpenAI clients</dt>
      <dd><code>${base}/v1</code><${CopyButton} text=${() => `${base}/v1`} label="Copy the base URL for OpenAI clients" /></dd>
      <dt>Anthropic clients</dt>
      <dd><code>${base}</code><${CopyButton} text=${() => base} label="Copy the base URL for Anthropic clients" /></dd>
    </dl>
    <${Choices} legend="What to paste" value=${which} options=${SNIPPETS.map(({ id, name }) => /** @type {const} */ ([id, name]))} />
    ${shown && html`<${Snippet} text=${shown.text({ base, model, key: "YOUR_KEY" })} label=${`the text for ${shown.name}`} />`}
    <p class="row__note">
      Put a key in the place of YOUR_KEY. Where none is demanded, any text will do. All routes, with a form to try each, are
      in <a href="/docs" target="_blank" rel="noopener">the description of the API</a>.
    </p>
  </section>`;
}
