/** @import { Signal } from "../lib.js" */
/** @import { Answer, ApiDocument, Media, Operation } from "./document.js" */

import { html } from "../lib.js";
import { Fold } from "./fold.js";
import { SchemaView } from "./schema_view.js";
import { typeWords } from "./schema_words.js";
import { TryIt } from "./try_it.js";

/** @param {{operation: Operation, api: ApiDocument, apiKey: Signal<string>, open: boolean}} props */
export function OperationFold({ operation, api, apiKey, open }) {
  const { id, method, path, summary } = operation;
  const title = html`<span class=${`method method--${method.toLowerCase()}`}>${method}</span>
    <code class="path">${path}</code> <span class="summary">${summary}</span>`;
  return html`<${Fold} title=${title} kind="operation" id=${id} open=${open}>
    ${() => html`<${Inside} operation=${operation} api=${api} apiKey=${apiKey} />`}
  <//>`;
}

/** @param {{operation: Operation, api: ApiDocument, apiKey: Signal<string>}} props */
function Inside({ operation, api, apiKey }) {
  const { description, parameters, body, answers } = operation;
  return html`${description && html`<p class="words">${marked(description)}</p>`}
    ${parameters.length > 0 &&
    html`<h3>Parameters</h3>
      <dl class="fields">
        ${parameters.map(
          (parameter) => html`<div key=${parameter.name} class="field">
            <dt>
              <code>${parameter.name}</code> <span class="type">${typeWords(parameter.schema, api)}</span>
              <span class="default">in the ${parameter.in}</span>
              ${parameter.required && html` <span class="required">required</span>`}
            </dt>
            <dd class="words">${marked(parameter.description)}</dd>
          </div>`,
        )}
      </dl>`}
    ${body &&
    html`<h3>Body${!body.required && " (may be left out)"}</h3>
      <${Content} content=${body.content} api=${api} />`}
    <h3>Answers</h3>
    ${answers.map(([status, answer]) => html`<${AnswerView} key=${status} status=${status} answer=${answer} api=${api} />`)}
    <h3>Try it</h3>
    <${TryIt} operation=${operation} api=${api} apiKey=${apiKey} />`;
}

/** @param {{status: string, answer: Answer, api: ApiDocument}} props */
function AnswerView({ status, answer, api }) {
  const title = html`<span class=${`status ${status < "400" ? "" : "status--bad"}`}>${status}</span> <span class="summary">${marked(answer.description)}</span>`;
  return html`<${Fold} title=${title} kind="answer">
    ${() => html`${Object.entries(answer.headers ?? {}).map(
        ([name, header]) => html`<p key=${name} class="words"><code>${name}</code> ${header.description}</p>`,
      )}
      ${answer.content ? html`<${Content} content=${answer.content} api=${api} />` : html`<p class="words">No body.</p>`}`}
  <//>`;
}

/** @param {{content: Record<string, Media>, api: ApiDocument}} props */
function Content({ content, api }) {
  return html`${Object.entries(content).map(
    ([type, media]) => html`<div key=${type} class="media">
      <p class="media__type">${type === "*/*" ? "any type" : type}</p>
      <${MediaView} media=${media} api=${api} />
    </div>`,
  )}`;
}

/** @param {{media: Media, api: ApiDocument}} props */
function MediaView({ media, api }) {
  const data = media.schema?.properties?.data;
  const event = data?.contentSchema ?? data?.else?.contentSchema;
  if (event) return html`<p class="words">The data of each event:</p><${SchemaView} schema=${event} api=${api} />`;
  return media.schema ? html`<${SchemaView} schema=${media.schema} api=${api} />` : null;
}

/** Words with code between backquotes. @param {string} text */
export function marked(text) {
  return text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
}
