/** @import { Signal } from "../lib.js" */
/** @import { ApiDocument } from "./document.js" */

import { html, useId, useSignal } from "../lib.js";
import { Icon } from "../ui/icons.js";
import { ThemeSwitch } from "../ui/theme_switch.js";
import { OperationFold } from "./operation.js";

/** @param {{api: ApiDocument, apiKey: Signal<string>}} props */
export function DocsPage({ api, apiKey }) {
  const filter = useSignal("");
  const groups = matching(api.groups, filter.value);
  const chosen = location.hash.slice(1);
  return html`<a class="skip" href="#routes">To the routes</a>
    <header class="docs__head">
      <h1><${Icon} name="flame" /> Fireside API <small>${api.version}</small></h1>
      <nav aria-label="Elsewhere">
        <a href="/">Chat</a>
        <a href="/openapi.json">openapi.json</a>
      </nav>
      <${ThemeSwitch} />
    </header>
    <div class="docs__body">
      <nav class="docs__tags" aria-label="Groups of routes">
        ${groups.map(({ tag }) => html`<a key=${tag} href=${`#${anchor(tag)}`}>${tag}</a>`)}
      </nav>
      <main class="docs__main" id="routes" tabindex="-1">
        <div class="docs__tools">
          <${Labelled} label="Find a route" type="search" value=${filter} />
          ${api.needsKey && html`<${Labelled} label="API key, kept until this page is closed" type="password" value=${apiKey} />`}
        </div>
        ${groups.map(
          ({ tag, operations }) => html`<section key=${tag} aria-labelledby=${anchor(tag)}>
            <h2 id=${anchor(tag)} tabindex="-1">${tag}</h2>
            ${operations.map(
              (operation) => html`<${OperationFold}
                key=${operation.id}
                operation=${operation}
                api=${api}
                apiKey=${apiKey}
                open=${operation.id === chosen}
              />`,
            )}
          </section>`,
        )}
        ${groups.length === 0 && html`<p class="words" role="status">No route has “${filter.value}” in it.</p>`}
      </main>
    </div>`;
}

/** @param {{label: string, type: string, value: Signal<string>}} props */
function Labelled({ label, type, value }) {
  const id = useId();
  return html`<div class="try__field">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type=${type}
      autocomplete="off"
      value=${value.value}
      onInput=${(/** @type {InputEvent} */ event) => (value.value = /** @type {HTMLInputElement} */ (event.target).value)}
    />
  </div>`;
}

/**
 * @param {ApiDocument["groups"]} groups
 * @param {string} text
 */
function matching(groups, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return groups
    .map(({ tag, operations }) => ({
      tag,
      operations: operations.filter(({ method, path, summary }) => {
        const all = `${method} ${path} ${summary} ${tag}`.toLowerCase();
        return words.every((word) => all.includes(word));
      }),
    }))
    .filter(({ operations }) => operations.length);
}

/** @param {string} tag */
function anchor(tag) {
  return `tag-${tag.toLowerCase().replaceAll(/\W+/g, "-")}`;
}
