/** @import { InFlight } from "../../net/status_api.js" */
/** @import { StatusSampler } from "../../state/status_sampler.js" */

import { html, useSignal } from "../../lib.js";
import { RouteError, reasonOf } from "../../net/answers.js";
import { cancelRequest } from "../../net/status_api.js";
import { progressWords, requestFigures, shortRoute } from "../../text/status_words.js";
import { useApp } from "../context.js";
import { Confirm, Empty } from "../settings/parts.js";

const GONE = 404;

/** @param {{sampler: StatusSampler}} props */
export function InFlightList({ sampler }) {
  const { announcer } = useApp();
  const error = useSignal("");
  const requests = sampler.requests.value;
  const cancel = async (/** @type {string} */ id) => {
    error.value = "";
    try {
      await cancelRequest(id);
      announcer.say("The request is cancelled");
    } catch (failure) {
      // It ended meanwhile: that is what was wanted.
      if (!(failure instanceof RouteError && failure.status === GONE)) error.value = reasonOf(failure);
    }
    await sampler.read();
  };
  return html`<section class="set__part" aria-labelledby="in-flight">
    <h2 id="in-flight">Requests in flight</h2>
    ${error.value && html`<p class="field__error" role="alert">${error.value}</p>`}
    ${requests.length === 0
      ? html`<${Empty} icon="check">${sampler.stats.value ? "Nothing is being answered." : "Not known yet."}<//>`
      : html`<ul class="rows" aria-label="Requests in flight">
          ${requests.map((request, index) => html`<${Row} key=${keyOf(request, index, requests)} request=${request} disabled=${sampler.failed.value} onCancel=${() => cancel(request.id)} />`)}
        </ul>`}
  </section>`;
}

/** A request for several answers is several times in the list. @param {InFlight} request @param {number} index @param {readonly InFlight[]} all */
const keyOf = ({ id }, index, all) => `${id} ${all.slice(0, index).filter((other) => other.id === id).length}`;

/** @param {{request: InFlight, disabled: boolean, onCancel: () => void}} props */
function Row({ request, disabled, onCancel }) {
  const { prefill_done, prompt_tokens, generated_tokens, max_tokens, route, state } = request;
  const [done, total] = state === "decoding" ? [generated_tokens, max_tokens] : [prefill_done, prompt_tokens];
  return html`<li class="row" data-testid="in-flight" data-state=${state}>
    <div class="row__text">
      <p class="row__head"><b>${progressWords(request)}</b></p>
      <progress class="meter" aria-label="How far it is" max=${total} value=${Math.min(done, total)}></progress>
      <p class="row__note"><code>${shortRoute(route)}</code> · ${requestFigures(request)}</p>
    </div>
    <${Confirm}
      label="Cancel"
      about=${`${shortRoute(route)}, ${progressWords(request)}`}
      question="Its answer ends here."
      yes="Cancel it"
      no="Let it run"
      disabled=${disabled}
      onYes=${onCancel}
    />
  </li>`;
}
