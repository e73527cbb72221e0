/** @import { App } from "./context.js" */

import { html } from "../lib.js";
import { Banner } from "./banner.js";
import { Composer } from "./composer.js";
import { AppContext } from "./context.js";
import { COMPOSER, focusOn } from "./focus.js";
import { NoticeList } from "./notice_list.js";
import { Opening } from "./opening.js";
import { PaletteDialog } from "./palette/door.js";
import { Sidebar } from "./sidebar.js";
import { Thread } from "./thread.js";
import { TopBar } from "./top_bar.js";
import { OtherView } from "./views.js";

/** @param {{app: App}} props */
export function Page({ app }) {
  const { drawer, router, session } = app;
  const chatting = router.view.value === "chat";
  const covered = drawer.narrow.value && drawer.open.value;
  return html`<${AppContext.Provider} value=${app}>
    <button type="button" class="skip" onClick=${() => focusOn(COMPOSER)}>Skip to the message box</button>
    <div class="app">
      <${Sidebar} />
      ${covered && html`<div class="scrim" onClick=${() => drawer.close()}></div>`}
      <div class="page" inert=${covered}>
        <${TopBar} />
        <main class="main">
          <${Banner} />
          ${chatting && html`<${Opening} />`}
          ${chatting ? html`<${Thread} />` : html`<${OtherView} />`}
          <${NoticeList} />
          ${chatting && session.view.value !== "missing" && html`<${Composer} />`}
        </main>
      </div>
    </div>
    <${PaletteDialog} />
  <//>`;
}
