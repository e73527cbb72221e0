import { html } from "../../lib.js";
import { shortcuts } from "../keys.js";

export function Shortcuts() {
  return html`<p class="set__lead">They work anywhere on the page unless it says otherwise.</p>
    <table class="table">
      <thead>
        <tr><th scope="col">Key</th><th scope="col">What it does</th></tr>
      </thead>
      <tbody>
        ${shortcuts.map(
          ({ keys, does }) => html`<tr key=${does}>
            <th scope="row"><kbd>${keys}</kbd></th>
            <td>${does}</td>
          </tr>`,
        )}
      </tbody>
    </table>`;
}
