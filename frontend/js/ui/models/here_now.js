/** @import { Download } from "../../net/models_api.js" */

import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { Icon } from "../icons.js";
import { useLibrary } from "./library.js";

/** That a model is on this machine, if it is. @param {{repo: string, job: Download | undefined}} props */
export function HereNow({ repo, job }) {
  const library = useLibrary();
  const there = library.value.value?.some(({ complete, repo_id }) => complete && repo_id === repo);
  if (!there && job?.state !== "done") return null;
  return html`<p class="get__here" role="status">
    <${Icon} name="check" />It is on this machine. <a href=${placeHref("models", "here")}>Serve it from there</a>
  </p>`;
}
