/** @import { Rule } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html } from "../../lib.js";
import { readRules, takeRuleBack } from "../../net/settings_api.js";
import { href } from "../../state/router.js";
import { atMinute, onDay } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { DryRun } from "./dry_run.js";
import { Confirm, Empty, Loaded, Words, useListing } from "./parts.js";

export function Approvals() {
  const listing = useListing(readRules);
  return html`<p class="set__lead">
      What changes this machine, runs programs or sends something away asks you first. A rule answers for you. Rules are
      made on the card of a call, under “Always allow…”, and nowhere else; here you look at them and take them back.
    </p>
    <${Loaded} listing=${listing} what="The rules">
      ${(/** @type {Rule[]} */ rules) =>
        rules.length === 0
          ? html`<${Empty} icon="check">There are no rules: every such call asks you.<//>`
          : html`<ul class="rows" aria-label="Rules">
              ${rules.map((rule) => html`<${RuleRow} key=${rule.id} rule=${rule} listing=${listing} />`)}
            </ul>`}
    <//>
    <${DryRun} />`;
}

/** @param {{rule: Rule, listing: Listing<Rule[]>}} props */
function RuleRow({ rule, listing }) {
  const { announcer } = useApp();
  const plain = rule.words.replaceAll("`", "");
  const takeBack = async () => {
    if (await listing.change(() => takeRuleBack(rule.id))) announcer.say(`Taken back: ${plain}`);
  };
  const chat = rule.session_id ?? rule.granted_from?.session_id;
  return html`<li class="row" data-testid="rule">
    <div class="row__text">
      <p><${Words} words=${rule.words} /></p>
      <p class="row__note">
        Since ${onDay(rule.created_at)}${rule.expires_at && `, until ${atMinute(rule.expires_at)}`}
        ${chat && html` · <a href=${href(chat)}>${rule.session_id ? "the chat it is for" : "granted in this chat"}</a>`}
      </p>
    </div>
    <${Confirm}
      label="Take back"
      about=${plain}
      question="Such calls will ask you again."
      yes="Take it back"
      disabled=${listing.busy.value}
      onYes=${takeBack}
    />
  </li>`;
}
