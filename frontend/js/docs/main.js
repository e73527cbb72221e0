/** Reads the description of the routes and shows it. */

import { html, render, signal } from "../lib.js";
import { Theme } from "../state/theme.js";
import { AppContext } from "../ui/context.js";
import { ApiDocument } from "./document.js";
import { DocsPage } from "./page.js";

const SOURCE = "/openapi.json";

async function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  const parts = { theme: new Theme() };
  try {
    const answer = await fetch(SOURCE, { cache: "no-cache" });
    if (!answer.ok) throw new Error(`${SOURCE} answered ${answer.status}`);
    const api = new ApiDocument(await answer.json());
    root.replaceChildren();
    render(html`<${AppContext.Provider} value=${parts}><${DocsPage} api=${api} apiKey=${signal("")} /><//>`, root);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    root.replaceChildren();
    const words = `The description of the routes cannot be read: ${String(error)}`;
    render(html`<main class="boot"><h1>Fireside API</h1><p role="alert">${words}</p></main>`, root);
  }
}

void start();
