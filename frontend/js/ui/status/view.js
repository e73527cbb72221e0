import { html, useEffect, useMemo } from "../../lib.js";
import { RecentRequests } from "../../state/status_log.js";
import { StatusSampler } from "../../state/status_sampler.js";
import { Charts } from "./charts.js";
import { Facts } from "./facts.js";
import { InFlightList } from "./in_flight.js";
import { Condition } from "./condition.js";
import { RecentList } from "./recent.js";

export function StatusView() {
  const log = useMemo(() => new RecentRequests(), []);
  const sampler = useMemo(() => new StatusSampler(() => log.follow()), []);
  useEffect(() => {
    sampler.start();
    return () => sampler.close();
  }, []);
  const ours = sampler.stats.value?.engine.mode !== "upstream";
  return html`<section class="view" aria-label="Status">
    <div class="status" data-stale=${sampler.failed.value}>
      <${Condition} sampler=${sampler} />
      ${ours && html`<${Charts} sampler=${sampler} />`}
      ${ours && html`<${InFlightList} sampler=${sampler} />`}
      <${RecentList} log=${log} />
      <${Facts} stats=${sampler.stats.value} failed=${sampler.failed.value} />
    </div>
  </section>`;
}
