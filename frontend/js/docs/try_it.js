/** @import { Signal } from "../lib.js" */
/** @import { ApiDocument, Operation, Parameter } from "./document.js" */

import { html, useId, useMemo, useSignal } from "../lib.js";
import { CodeBox } from "./code_box.js";
import { curlOf, exampleBody } from "./example.js";
import { Fold } from "./fold.js";
import { typeWords } from "./schema_words.js";
import { Sending, urlOf } from "./sending.js";

/**
 * A form that sends the request, and what comes back.
 *
 * @param {{operation: Operation, api: ApiDocument, apiKey: Signal<string>}} props
 */
export function TryIt({ operation, api, apiKey }) {
  const { method, path, parameters } = operation;
  const values = useSignal(/** @type {Record<string, string>} */ ({}));
  const body = useSignal(exampleBody(operation, api));
  const sending = useMemo(() => new Sending(), []);
  const url = urlOf(path, parameters, values.value);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    void sending.send({ method, url, body: body.value, key: apiKey.value });
  };
  const curl = curlOf({ method, url: location.origin + url, body: body.value, needsKey: api.needsKey });
  return html`<form class="try" aria-label=${`Try ${method} ${path}`} onSubmit=${send}>
    ${parameters.map(
      (parameter) => html`<${Field}
        key=${parameter.name}
        parameter=${parameter}
        api=${api}
        value=${values.value[parameter.name] ?? ""}
        change=${(/** @type {string} */ value) => (values.value = { ...values.value, [parameter.name]: value })}
      />`,
    )}
    ${operation.body && html`<${Body} operation=${operation} text=${body} />`}
    <${CodeBox} title="curl" text=${curl} />
    <p class="try__buttons">
      <button type="submit" class="button button--go" disabled=${sending.running.value}>Send</button>
      ${sending.running.value &&
      html`<button type="button" class="button" onClick=${() => sending.stop()}>Stop</button>`}
    </p>
    <${Outcome} sending=${sending} />
  </form>`;
}

/** @param {{parameter: Parameter, api: ApiDocument, value: string, change: (value: string) => void}} props */
function Field({ parameter, api, value, change }) {
  const id = useId();
  return html`<div class="try__field">
    <label for=${id}>
      <code>${parameter.name}</code> <span class="type">${typeWords(parameter.schema, api)}</span>
      ${parameter.required && html` <span class="required">required</span>`}
    </label>
    <input
      id=${id}
      value=${value}
      required=${parameter.required}
      autocomplete="off"
      spellcheck=${false}
      aria-describedby=${`${id}-words`}
      onInput=${(/** @type {InputEvent} */ event) => change(/** @type {HTMLInputElement} */ (event.target).value)}
    />
    <p class="words" id=${`${id}-words`}>${parameter.description}</p>
  </div>`;
}

/** @param {{operation: Operation, text: Signal<string>}} props */
function Body({ operation: { body }, text }) {
  const id = useId();
  if (!body?.content["application/json"]) {
    return html`<p class="words">The body is a file, which this form cannot send. It takes ${Object.keys(body?.content ?? {}).join(", ")}.</p>`;
  }
  return html`<div class="try__field">
    <label for=${id}>Body, as JSON</label>
    <textarea
      id=${id}
      rows=${Math.min(16, text.value.split("\n").length + 1)}
      spellcheck=${false}
      value=${text.value}
      onInput=${(/** @type {InputEvent} */ event) => (text.value = /** @type {HTMLTextAreaElement} */ (event.target).value)}
    ></textarea>
  </div>`;
}

/** @param {{sending: Sending}} props */
function Outcome({ sending }) {
  const { status, failed, headers, text } = sending;
  return html`<div class="outcome">
    <p class=${`outcome__status ${failed.value ? "outcome__status--bad" : ""}`} role="status">${status.value}</p>
    ${headers.value &&
    html`<${Fold} title="Headers" kind="answer">${() => html`<${CodeBox} title="Headers" text=${headers.value} />`}<//>`}
    ${text.value && html`<${CodeBox} title="Answer" text=${text.value} />`}
  </div>`;
}
