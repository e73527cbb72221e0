/** @import { ToolRow } from "../../net/settings_api.js" */

import { html } from "../../lib.js";
import { readTools } from "../../net/settings_api.js";
import { placeHref } from "../../state/router.js";
import { RISKS, RISK_NAMES } from "../../text/settings_words.js";
import { Empty, Loaded, useListing } from "./parts.js";

export function Tools() {
  const listing = useListing(readTools);
  return html`<p class="set__lead">
      What the model can be given to work with. Chats have the marked ones by themselves, as many as suit the model;
      a <a href=${placeHref("settings", "presets")}>preset</a> can name others.
    </p>
    <${Loaded} listing=${listing} what="The tools">
      ${(/** @type {ToolRow[]} */ tools) =>
        tools.length === 0
          ? html`<${Empty} icon="tool">There are no tools.<//>`
          : sourcesOf(tools).map((source) => html`<${Source} key=${source} source=${source} tools=${tools} />`)}
    <//>`;
}

/** @param {readonly ToolRow[]} tools */
const sourcesOf = (tools) => [...new Set(tools.map(({ source }) => source))];

/** @param {{source: string, tools: readonly ToolRow[]}} props */
function Source({ source, tools }) {
  const title = source === "built-in" ? "Built in" : `From ${source}`;
  return html`<section class="set__part" aria-label=${title}>
    <h3>${title}</h3>
    <ul class="rows">
      ${tools.filter((tool) => tool.source === source).map((tool) => html`<${ToolLine} key=${tool.name} tool=${tool} />`)}
    </ul>
  </section>`;
}

/** @param {{tool: ToolRow}} props */
function ToolLine({ tool: { name, description, risk, usual } }) {
  return html`<li class="row" data-testid="tool" data-usual=${usual}>
    <div class="row__text">
      <p class="row__head">
        <code>${name}</code>
        <span class=${`tag tag--${risk}`} title=${RISKS[risk]}>${RISK_NAMES[risk]}<span class="visually-hidden">: ${RISKS[risk]}</span></span>
        ${usual && html`<span class="tag tag--on">In chats by itself</span>`}
      </p>
      <p class="row__note" dir="auto">${description}</p>
    </div>
  </li>`;
}
