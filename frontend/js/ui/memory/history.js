/** @import { Commit } from "../../net/memory_api.js" */

import { html, useEffect, useMemo, useSignal } from "../../lib.js";
import { reasonOf } from "../../net/answers.js";
import { BEFORE, NOW, Versions } from "../../state/memory_versions.js";
import { ago, commitWords, exactly } from "../../text/memory_words.js";
import { Icon } from "../icons.js";
import { Comparison } from "./comparison.js";
import { useLostFocus } from "./place_focus.js";
import { Trouble } from "./trouble.js";

const PORTION = 50;

/**
 * The versions of an article, what each changed, and the difference of any two.
 *
 * @typedef {object} HistoryProps
 * @property {string} name
 * @property {string} title
 * @property {boolean} writable
 * @property {(text: string) => void} onRestore  with the text of an old version
 * @property {() => void} onLeave
 */

/** @param {HistoryProps} props */
export function History({ name, title, writable, onRestore, onLeave }) {
  const versions = useMemo(() => new Versions(name), [name]);
  useEffect(() => void versions.load(), [versions]);
  const heading = useLostFocus(`History of ${title}`);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onLeave();
  };
  const restore = async (/** @type {string} */ commit) => {
    try {
      onRestore(await versions.text(commit));
    } catch (error) {
      versions.error.value = reasonOf(error);
    }
  };
  return html`<div class="memory__column history" onKeyDown=${onKeyDown}>
    <button type="button" class="action" onClick=${onLeave}><${Icon} name="left" />Back to the article</button>
    <h2 tabindex="-1" ref=${heading} dir="auto">History of ${title}</h2>
    ${versions.phase.value === "loading" && html`<p role="status">Reading the history…</p>`}
    ${versions.phase.value === "failed" &&
    html`<${Trouble}
      title="The history cannot be shown"
      words=${versions.error.value}
      onRetry=${() => versions.load()}
    />`}
    ${versions.phase.value === "shown" &&
    html`<${Comparison} versions=${versions} onRestore=${writable ? restore : undefined} />
      <${CommitList} versions=${versions} />`}
  </div>`;
}

/** @param {{versions: Versions}} props */
function CommitList({ versions }) {
  const shown = useSignal(PORTION);
  const commits = versions.commits.value;
  if (commits.length === 0) return html`<p class="memory__none">No version of this article is committed yet.</p>`;
  return html`<section class="history__list" aria-label="Versions">
    <ol>
      ${versions.uncommitted.value &&
      html`<${Row}
        versions=${versions}
        commit=${NOW}
        subject="Changed outside Fireside, not committed yet"
        detail="now"
      />`}
      ${commits
        .slice(0, shown.value)
        .map(
          (/** @type {Commit} */ { commit, subject, author, time }) =>
            html`<${Row}
              key=${commit}
              versions=${versions}
              commit=${commit}
              subject=${commitWords(subject, versions.name)}
              detail=${`${ago(time)} · ${author}`}
              title=${exactly(time)}
            />`,
        )}
    </ol>
    ${commits.length > shown.value &&
    html`<button type="button" class="action" onClick=${() => (shown.value += PORTION)}>Show older versions</button>`}
  </section>`;
}

/** @param {{versions: Versions, commit: string, subject: string, detail: string, title?: string}} props */
function Row({ versions, commit, subject, detail, title }) {
  const current = versions.to.value === commit;
  return html`<li>
    <button
      type="button"
      class="history__row"
      aria-pressed=${current}
      title=${title}
      onClick=${() => void versions.compare(BEFORE, commit)}
    >
      <span dir="auto">${subject}</span><small>${detail}</small>
    </button>
  </li>`;
}
