import { html, useEffect, useLayoutEffect, useMemo, useRef } from "../../lib.js";
import { ModelDownloads } from "../../state/models_downloads.js";
import { HubSearch } from "../../state/models_search.js";
import { downloadTitle } from "../../text/models_words.js";
import { useApp } from "../context.js";
import { Sections } from "../sections.js";
import { Card } from "./card.js";
import { CleanUpSection } from "./clean_up.js";
import { DownloadsSection } from "./downloads.js";
import { Find } from "./find.js";
import { Here } from "./here.js";
import { RecommendedSection } from "./recommended.js";
import { SECTIONS } from "./sections.js";

const FOUND = "find/";

/** The models: those on this machine, and those that could be. */
export function ModelsView() {
  const { announcer, library, router } = useApp();
  const downloads = useMemo(
    () =>
      new ModelDownloads((download) => {
        announcer.say(`${downloadTitle(download)}: ${download.state === "done" ? "downloaded" : "the download failed"}.`);
        void library.load();
      }),
    [],
  );
  const search = useMemo(() => new HubSearch(), []);
  useEffect(() => {
    downloads.start();
    return () => {
      downloads.close();
      search.close();
    };
  }, []);
  const place = router.place.value;
  const card = place.startsWith(FOUND) ? place.slice(FOUND.length) : "";
  const open = SECTIONS.find((section) => section.place === (card ? "find" : place)) ?? SECTIONS[0];
  const view = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => view.current?.scrollTo(0, 0), [place]);
  const live = downloads.live.value.length;
  return html`<section class="view" aria-label="Models" ref=${view}>
    <div class="settings models">
      <${Sections}
        view="models"
        label="Sections of the models"
        sections=${SECTIONS}
        open=${open.place}
        notes=${{ downloads: live ? String(live) : "" }}
      />
      <div class="set">
        ${card
          ? html`<${Card} key=${card} repo=${card} downloads=${downloads} />`
          : html`<h2>${open.title}</h2>
              ${open.place === "here" && html`<${Here} downloads=${downloads} />`}
              ${open.place === "find" && html`<${Find} search=${search} />`}
              ${open.place === "downloads" && html`<${DownloadsSection} downloads=${downloads} />`}
              ${open.place === "recommended" && html`<${RecommendedSection} downloads=${downloads} />`}
              ${open.place === "clean-up" && html`<${CleanUpSection} />`}`}
      </div>
    </div>
  </section>`;
}
