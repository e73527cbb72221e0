/** The form of a browser that has no session yet. */

import { postJson, reasonOf } from "./net/answers.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("form"));
const key = /** @type {HTMLInputElement} */ (document.getElementById("key"));
const go = /** @type {HTMLButtonElement} */ (document.getElementById("go"));
const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));

/** @param {SubmitEvent} event */
async function logIn(event) {
  event.preventDefault();
  go.disabled = true;
  problem.textContent = "";
  try {
    await postJson("/login", { key: key.value.trim() });
    location.replace("/");
  } catch (error) {
    problem.textContent = reasonOf(error);
    key.select();
  } finally {
    go.disabled = false;
  }
}

/** @type {HTMLElement} */ (document.getElementById("stale")).hidden = !location.search.includes("code=");
form.addEventListener("submit", (event) => void logIn(event));
