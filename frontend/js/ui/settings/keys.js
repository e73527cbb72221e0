/** @import { KeyInfo, KeyList } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useMemo, useSignal } from "../../lib.js";
import { createKey, deleteKey, readKeys } from "../../net/settings_api.js";
import { FieldError, FormState } from "../../state/settings_form.js";
import { keyWords } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { FactLine } from "../fact_line.js";
import { Access } from "./access.js";
import { Form, Save, TextField } from "./fields.js";
import { Confirm, Empty, Loaded, Snippet, useListing } from "./parts.js";

export function Keys() {
  const listing = useListing(readKeys);
  return html`<p class="set__lead">
      Other programs use Fireside through its API, which speaks as OpenAI’s and Anthropic’s do. A key is as good as you at
      the keyboard: whoever has it reads the chats and makes the agent work. Make one for each program or device, and
      delete it when that is gone.
    </p>
    <${Loaded} listing=${listing} what="The keys">
      ${(/** @type {KeyList} */ { keys, required }) => html`
        <p class="row__note" data-testid="keys-required">
          ${required
            ? "Fireside demands a key or a login from everybody."
            : "Fireside listens to this machine alone and demands no key from its programs; one is needed only to reach it from elsewhere."}
        </p>
        ${keys.length === 0
          ? html`<${Empty} icon="plug">There are no keys.<//>`
          : html`<ul class="rows" aria-label="API keys">
              ${keys.map((key) => html`<${KeyRow} key=${key.id} info=${key} listing=${listing} />`)}
            </ul>`}
        <${NewKey} listing=${listing} />
      `}
    <//>
    <${ThisBrowser} />
    <${Access} />`;
}

/** The way out of a session that was opened with a link or a key. */
function ThisBrowser() {
  const { engine, login } = useApp();
  const error = useSignal("");
  if (!engine.current.value?.login) return null;
  const leave = async () => (error.value = await login.logOut());
  return html`<section class="set__part" aria-labelledby="this-browser">
    <h3 id="this-browser">This browser</h3>
    <p>It is logged in until you log out, for ninety days. What you have typed here and not sent goes with the login.</p>
    <div class="save"><button type="button" class="button" onClick=${leave}>Log out</button></div>
    ${error.value && html`<p class="field__error" role="alert">${error.value}</p>`}
  </section>`;
}

/** @param {{info: KeyInfo, listing: Listing<KeyList>}} props */
function KeyRow({ info, listing }) {
  const { announcer } = useApp();
  const remove = async () => {
    if (await listing.change(() => deleteKey(info.id))) announcer.say(`Deleted the key ${info.name}`);
  };
  return html`<li class="row" data-testid="key">
    <div class="row__text">
      <p><b dir="auto">${info.name}</b></p>
      <p class="row__note"><${FactLine} line=${keyWords(info)} /></p>
    </div>
    ${info.source === "created" &&
    html`<${Confirm} label="Delete" about=${info.name} question="What uses it is shut out at once." yes="Delete the key" onYes=${remove} />`}
  </li>`;
}

/** @param {{listing: Listing<KeyList>}} props */
function NewKey({ listing }) {
  const form = useMemo(() => new FormState(["name"]), []);
  const name = useSignal("");
  const made = useSignal(/** @type {{key: string, name: string} | null} */ (null));
  const create = async () => {
    const done = await form.send(async () => {
      const wanted = name.value.trim();
      if (!wanted) throw new FieldError("name", "Say what the key is for, such as the program or device.");
      made.value = { key: (await createKey(wanted)).key, name: wanted };
      name.value = "";
    });
    if (done) await listing.load();
  };
  return html`<section class="set__part" aria-labelledby="new-key">
    <h3 id="new-key">New key</h3>
    <${Form} form=${form} label="New key" onSend=${create}>
      <${TextField} form=${form} name="name" label="What it is for" value=${name} attributes=${{ maxlength: 100, placeholder: "Such as: editor on the laptop" }} />
      <${Save} form=${form} label="Create key" saved="Created" />
    <//>
    <div role="status">
      ${made.value &&
      html`<div class="made" data-testid="made-key">
        <p><b>The key for ${made.value.name}.</b> Copy it now: it is shown this once and kept nowhere.</p>
        <${Snippet} text=${made.value.key} label="the key" />
        <button type="button" class="button" onClick=${() => (made.value = null)}>I have it</button>
      </div>`}
    </div>
  </section>`;
}
