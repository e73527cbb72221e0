/** @import { ToolRow } from "../../net/settings_api.js" */

import { html } from "../../lib.js";
import { readTools } from "../../net/settings_api.js";
import { RISKS, RISK_NAMES } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { Loaded, useListing } from "../settings/parts.js";
import { Radios } from "./radios.js";

/** Which tools the model may call in this chat. */
export function ToolsPart() {
  const listing = useListing(readTools);
  return html`<section class="panel__part" aria-label="Tools of this chat">
    <${Loaded} listing=${listing} what="The tools">
      ${(/** @type {ToolRow[]} */ tools) => html`<${Choice} tools=${tools} />`}
    <//>
    <${ReadOnly} />
  </section>`;
}

/** @param {{tools: readonly ToolRow[]}} props */
function Choice({ tools }) {
  const { chatSettings } = useApp();
  const usual = tools.filter((tool) => tool.usual).map(({ name }) => name);
  const chosen = chatSettings.current.value.tools ?? null;
  const pick = (/** @type {string} */ choice) => chatSettings.change({ tools: choice === "chosen" ? usual : null });
  const turn = (/** @type {string} */ name, /** @type {boolean} */ on) => {
    const others = (chosen ?? usual).filter((other) => other !== name);
    chatSettings.change({ tools: on ? [...others, name] : others });
  };
  return html`<${Radios}
      legend="Tools"
      value=${chosen ? "chosen" : "usual"}
      options=${[["usual", "The usual"], ["chosen", "Only these"]]}
      onChoose=${pick}
    />
    ${chosen === null && html`<p class="field__hint">${usualWords(usual)}</p>`}
    ${chosen !== null &&
    html`<ul class="wield" aria-label="Tools that the model may call">
      ${rowsOf(tools, chosen).map(
        ({ name, risk, description }) => html`<li key=${name}>
          <label class="check" title=${description}>
            <input
              type="checkbox"
              checked=${chosen.includes(name)}
              onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => turn(name, event.currentTarget.checked)}
            />
            <span><code>${name}</code>${risk ? html`<small>${RISK_NAMES[risk]}: ${RISKS[risk]}</small>` : html`<small>not there just now</small>`}</span>
          </label>
        </li>`,
      )}
    </ul>`}`;
}

function ReadOnly() {
  const { chatSettings } = useApp();
  return html`<label class="check wield__all">
    <input
      type="checkbox"
      checked=${chatSettings.current.value.read_only ?? false}
      onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) =>
        chatSettings.change({ read_only: event.currentTarget.checked })}
    />
    <span>Nothing that asks<small>Calls that would need your permission are blocked outright.</small></span>
  </label>`;
}

/**
 * Those that there are, then those that were chosen when there were others.
 *
 * @param {readonly ToolRow[]} tools
 * @param {readonly string[]} chosen
 * @returns {{name: string, risk?: ToolRow["risk"], description?: string}[]}
 */
function rowsOf(tools, chosen) {
  const known = new Set(tools.map(({ name }) => name));
  return [...tools, ...chosen.filter((name) => !known.has(name)).map((name) => ({ name }))];
}

/** @param {readonly string[]} names */
function usualWords(names) {
  return names.length ? `Those that suit the model: ${names.join(", ")}.` : "This model has none by itself.";
}
