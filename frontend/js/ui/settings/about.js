import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { useApp } from "../context.js";
import { CopyButton } from "../copy_button.js";

export function About() {
  const { chats, engine } = useApp();
  const status = engine.current.value;
  return html`<p class="set__lead">A private place to talk with the language models on your own machine.</p>
    <dl class="pairlist">
      <dt>Version</dt>
      <dd>${status ? `Fireside ${status.version}` : "Not known until Fireside answers"}</dd>
      <dt>Model</dt>
      <dd dir="auto">${status?.engine.model?.name ?? "None yet"}${status?.mode === "upstream" && ", on another server"}</dd>
      <dt>This page’s address</dt>
      <dd><code>${location.origin}</code></dd>
      ${status?.home &&
      html`<dt>Data folder</dt>
        <dd>
          <code>${status.home}</code>
          <${CopyButton} label="Copy the folder’s path" text=${() => status.home} />
        </dd>`}
    </dl>
    <section class="set__part" aria-labelledby="data">
      <h3 id="data">Where your data lives</h3>
      <p>
        On the machine that runs Fireside, in its data folder, which <code>FIRESIDE_HOME</code> can put elsewhere. Nothing is sent anywhere but what you asked to be searched, fetched or downloaded.
      </p>
      <dl class="pairlist">
        <dt><code>fireside.db</code></dt><dd>Chats, rules, presets and instructions</dd>
        <dt><code>wiki/</code></dt><dd>The memory: Markdown files in a git repository</dd>
        <dt><code>workspace/</code></dt><dd>Where the model’s tools work</dd>
        <dt><code>attachments/</code></dt><dd>Files of messages</dd>
        <dt><code>logs/</code></dt><dd>Figures of each request; no texts unless you ask for them</dd>
        <dt><code>mcp.json</code>, <code>keys.json</code></dt><dd>MCP servers; API keys by their digests</dd>
      </dl>
      <ul class="links">
        <li><a href=${placeHref("deleted")}>Recently deleted chats</a> (${chats.deleted.value}): restored, or deleted for good</li>
      </ul>
    </section>
    <section class="set__part" aria-labelledby="help">
      <h3 id="help">Help</h3>
      <ul class="links">
        <li><a href="/docs" target="_blank" rel="noopener">The API</a>: all routes, with a form to try each</li>
        <li><a href="/help/phone" target="_blank" rel="noopener">Fireside on a phone</a>, or from another machine</li>
      </ul>
    </section>`;
}
