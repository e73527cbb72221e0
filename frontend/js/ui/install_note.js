import { html } from "../lib.js";

/** Why the browser does not offer to install this page, where it does not. */
export function InstallNote() {
  if (window.isSecureContext) return null;
  return html`<p class="side__note">
    This page came over plain http from another machine, so the browser does not install it as an app.${" "}
    <a href="/help/phone" target="_blank" rel="noopener">How to get https</a>
  </p>`;
}
