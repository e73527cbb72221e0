/** @import { ApiDocument, Schema } from "./document.js" */

import { html } from "../lib.js";
import { Fold } from "./fold.js";
import { partsOf, typeWords } from "./schema_words.js";

/**
 * A type, and inside of folds the objects that it is made of. An object is only drawn when its fold opens,
 * so that one inside itself has no end but is no trouble either.
 *
 * @param {{schema: Schema, api: ApiDocument}} props
 */
export function SchemaView({ schema, api }) {
  const parts = partsOf(schema, api);
  const words = typeWords(schema, api);
  const [only] = parts;
  if (parts.length === 1 && only?.name === words) return html`<${ObjectFold} ...${only} api=${api} />`;
  return html`<p class="type">${words}</p>
    ${parts.map((part) => html`<${ObjectFold} key=${part.name} ...${part} api=${api} />`)}`;
}

/** @param {{name: string, schema: Schema, api: ApiDocument}} props */
function ObjectFold({ name, schema, api }) {
  return html`<${Fold} title=${html`<span class="type">${name}</span>`} kind="object">
    ${() => html`<${Properties} schema=${schema} api=${api} />`}
  <//>`;
}

/** @param {{schema: Schema, api: ApiDocument}} props */
function Properties({ schema, api }) {
  const required = new Set(schema.required);
  return html`${schema.description && html`<p class="words">${schema.description}</p>`}
    <dl class="fields">
      ${Object.entries(schema.properties).map(
        ([name, property]) => html`<div key=${name} class="field">
          <dt>
            <code>${name}</code> <span class="type">${typeWords(property, api)}</span>
            ${required.has(name) ? html` <span class="required">required</span>` : html`<${Default} of=${property} />`}
          </dt>
          <dd>
            ${property.description && html`<p class="words">${property.description}</p>`}
            ${partsOf(property, api).map((part) => html`<${ObjectFold} key=${part.name} ...${part} api=${api} />`)}
          </dd>
        </div>`,
      )}
    </dl>`;
}

/** @param {{of: Schema}} props */
function Default({ of: { default: value } }) {
  if (value === undefined || value === null) return null;
  return html` <span class="default">default ${JSON.stringify(value)}</span>`;
}
