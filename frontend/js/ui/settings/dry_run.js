/** @import { Approval, RuleKind, ToolRow, TrialOutcome } from "../../net/settings_api.js" */

import { html, useMemo, useSignal } from "../../lib.js";
import { readTools, tryRule } from "../../net/settings_api.js";
import { FieldError, FormState } from "../../state/settings_form.js";
import { KINDS, atMinute, kindsFor, trialWords } from "../../text/settings_words.js";
import { Field, Form, Save, SelectField, TextField } from "./fields.js";
import { useListing } from "./parts.js";

/** Tries a rule on the calls of the past days; it grants nothing. */
export function DryRun() {
  const tools = useListing(readTools);
  const form = useMemo(() => new FormState(["tool", "kind", "value"]), []);
  const tool = useSignal("bash");
  const kind = useSignal("command_prefix");
  const value = useSignal("");
  const outcome = useSignal(/** @type {TrialOutcome | null} */ (null));
  const known = tools.value.value ?? [];
  const kinds = kindsFor(known.find((each) => each.name === tool.value));
  const chosen = /** @type {RuleKind} */ (kinds.find((each) => each === kind.value) ?? kinds[0]);
  const { value: label, hint } = KINDS[chosen];
  const send = () =>
    form.send(async () => {
      outcome.value = null;
      outcome.value = await tryRule({ tool: tool.value, kind: chosen, value: valueOf(chosen, value.value) });
    });
  return html`<section class="set__part" aria-labelledby="dry-run">
    <h3 id="dry-run">Try a rule</h3>
    <p class="set__lead">See what a rule would have allowed before you grant it. This grants nothing.</p>
    <${Form} form=${form} label="Try a rule" onSend=${send}>
      <div class="form__row">
        <${SelectField} form=${form} name="tool" label="Tool" value=${tool} options=${toolOptions(known, tool.value)} />
        <${Field}
          form=${form}
          name="kind"
          label="What it allows"
          control=${(/** @type {Record<string, unknown>} */ common) => html`<select
            class="input"
            ...${common}
            value=${chosen}
            onChange=${(/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) => (kind.value = event.currentTarget.value)}
          >
            ${kinds.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${KINDS[each].name}</option>`)}
          </select>`}
        />
      </div>
      ${label && html`<${TextField} form=${form} name="value" label=${label} hint=${hint} value=${value} />`}
      <${Save} form=${form} label="Try it" saved="Tried" />
    <//>
    <div role="status">${outcome.value && html`<${Outcome} outcome=${outcome.value} />`}</div>
  </section>`;
}

/** @param {readonly ToolRow[]} tools @param {string} chosen @returns {[string, string][]} */
function toolOptions(tools, chosen) {
  const names = tools.map(({ name }) => name);
  return (names.includes(chosen) ? names : [chosen, ...names]).map((name) => [name, name]);
}

/** @param {RuleKind} kind @param {string} text */
function valueOf(kind, text) {
  if (kind === "tool") return "";
  if (!text.trim()) throw new FieldError("value", "Fill this in first.");
  return kind === "command_prefix" ? text.trim().split(/\s+/) : text.trim();
}

/** @param {{outcome: TrialOutcome}} props */
function Outcome({ outcome }) {
  const { approvals, count } = outcome;
  return html`<div class="trial" data-testid="trial">
    <p class=${outcome.decided.deny ? "trial__warning" : ""}>${trialWords(outcome)}</p>
    ${approvals.length > 0 &&
    html`<ul class="rows" aria-label="Calls that the rule would have allowed">
      ${approvals.map((call) => html`<${Call} key=${call.id} call=${call} />`)}
    </ul>`}
    ${count > approvals.length && html`<p class="row__note">These are the newest ${approvals.length}.</p>`}
  </div>`;
}

const DECISIONS = { allow: "You allowed it", deny: "You denied it" };

/** @param {{call: Approval}} props */
function Call({ call: { created_at, decision, subject, tool } }) {
  const what = subject.command || subject.path || subject.host || tool;
  return html`<li class="row">
    <div class="row__text"><code class="row__code" dir="auto">${what}</code></div>
    <p class=${`row__note ${decision === "deny" ? "row__note--bad" : ""}`}>
      ${decision ? DECISIONS[decision] : "Not answered"} · ${atMinute(created_at)}
    </p>
  </li>`;
}
