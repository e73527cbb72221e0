/** @import { LogLine } from "../../net/status_api.js" */
/** @import { RecentRequests } from "../../state/status_log.js" */

import { html } from "../../lib.js";
import { count, milliseconds, speed } from "../../text/format.js";
import { atMinute } from "../../text/settings_words.js";
import { atSecond, endingOf, shortRoute } from "../../text/status_words.js";
import { Empty } from "../settings/parts.js";

const DAY_MS = 86_400_000;

/** @param {{log: RecentRequests}} props */
export function RecentList({ log }) {
  const lines = log.lines.value;
  const error = log.error.value;
  return html`<section class="set__part" aria-labelledby="recent" aria-busy=${lines === null}>
    <h2 id="recent">Recent requests</h2>
    ${error && lines === null && html`<p class="row__note" role="status">They cannot be read now. ${error}</p>`}
    ${lines?.length === 0 && html`<${Empty} icon="receipt">None yet. Each answer leaves its figures here, never its text.<//>`}
    ${lines && lines.length > 0 && html`<${Table} lines=${lines} />`}
    ${log.more.value &&
    html`<button type="button" class="button add" disabled=${log.busy.value} onClick=${() => log.showMore()}>Load more</button>`}
  </section>`;
}

/** @param {{lines: readonly LogLine[]}} props */
function Table({ lines }) {
  return html`<div class="scroller" tabindex="0" role="region" aria-label="Table of the recent requests">
    <table class="table table--log">
      <thead>
        <tr>
          <th scope="col">Ended</th>
          <th scope="col">Route</th>
          <th scope="col">How</th>
          <th scope="col" class="number middle">Prompt</th>
          <th scope="col" class="number wide">Cached</th>
          <th scope="col" class="number">Answer</th>
          <th scope="col" class="number wide">First token</th>
          <th scope="col" class="number wide">Speed</th>
          <th scope="col" class="number">Took</th>
        </tr>
      </thead>
      <tbody>
        ${lines.map((line) => html`<${Line} key=${`${line.id} ${line.time}`} line=${line} />`)}
      </tbody>
    </table>
  </div>`;
}

/** @param {{line: LogLine}} props */
function Line({ line }) {
  const { cached_tokens, completion_tokens, decode_tps, finish, prompt_tokens, route, time, total_ms, ttft_ms } = line;
  const when = Date.now() - time * 1000 < DAY_MS ? atSecond(time * 1000) : atMinute(time);
  return html`<tr data-testid="recent" data-id=${line.id}>
    <td class="number">${when}</td>
    <td class="table__route"><code>${shortRoute(route)}</code></td>
    <td class=${finish === "error" ? "table__bad" : ""}>${endingOf(line)}</td>
    <td class="number middle">${count(prompt_tokens)}</td>
    <td class="number wide">${count(cached_tokens)}</td>
    <td class="number">${count(completion_tokens)}</td>
    <td class="number wide">${ttft_ms === null ? "–" : milliseconds(ttft_ms)}</td>
    <td class="number wide">${decode_tps === null ? "–" : speed(decode_tps)}</td>
    <td class="number">${milliseconds(total_ms)}</td>
  </tr>`;
}
