/** @import { Assessment, Download, Found, LocalModel, Machine } from "../net/models_api.js" */
/** @import { Engine, Switch } from "../net/status_source.js" */

import { bytes, bytesOf, count, seconds, speed } from "./format.js";

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const rough = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Of what is missing, so many are named. */
const FEW = 3;

/** The part of a name after its owner. @param {string} id */
export const shortName = (id) => id.slice(id.lastIndexOf("/") + 1);

/** The owner, "" for a folder. @param {string} id */
export const ownerOf = (id) => id.slice(0, Math.max(0, id.lastIndexOf("/")));

/** @type {Record<LocalModel["kind"], string>} what a model that cannot chat is */
export const KINDS = { chat: "Chat", embedding: "Embeddings", speech: "Speech", other: "Not for chat" };

/** @param {number | null} tokens */
export function contextWords(tokens) {
  if (!tokens) return "";
  return tokens < 1000 ? `${count(tokens)} tokens` : `${count(tokens % 1024 === 0 ? tokens / 1024 : tokens / 1000)}k context`;
}

/** @param {number | null} parameters */
export function parameterWords(parameters) {
  if (!parameters) return "";
  return parameters >= 1e9 ? `${tenths.format(parameters / 1e9)} B parameters` : `${tenths.format(parameters / 1e6)} M parameters`;
}

/** @param {LocalModel} model */
export function bitsWords({ dtype, quant_bits }) {
  if (quant_bits) return `${quant_bits}-bit`;
  if (!dtype) return "";
  return /16/.test(dtype) ? "16-bit" : /32/.test(dtype) ? "32-bit" : dtype;
}

/** How fast it answers here. @param {Assessment} assessment */
export function rateWords({ decode_tps, measured_decode_tps }) {
  if (measured_decode_tps) return `${speed(measured_decode_tps)} measured`;
  return decode_tps ? `about ${decode_tps < 10 ? speed(decode_tps) : `${count(decode_tps)} tok/s`}` : "";
}

/** What it is, in a line. @param {LocalModel} model */
export function modelLine(model) {
  return [bytes(model.size_bytes), bitsWords(model), contextWords(model.context_window), model.assessment.fits && rateWords(model.assessment)]
    .filter(Boolean)
    .join(" · ");
}

/** What it can do besides writing. @param {LocalModel} model */
export function marksOf({ audio, thinking, tools, vision }) {
  return [tools && "Tools", thinking && "Thinking", vision && "Vision", audio && "Audio"].filter((mark) => mark !== false);
}

/** Why it cannot be served here, "" if it can. @param {LocalModel} model */
export function obstacle({ assessment, complete, kind, missing, unsupported }) {
  if (!complete) return `Not complete: ${missing.slice(0, FEW).join(", ")}${missing.length > FEW ? ` and ${missing.length - FEW} more` : ""}.`;
  if (unsupported) return unsupported;
  if (kind !== "chat") return "It does not chat.";
  return assessment.fits ? "" : assessment.reason;
}

/** Whether it is memory alone that it lacks here. @param {LocalModel} model */
export const tooLarge = ({ assessment, complete, kind, unsupported }) =>
  complete && !unsupported && kind === "chat" && !assessment.fits && assessment.weights_bytes !== null;

/** @param {Assessment} assessment */
export function fitWords({ context_tokens, kv_bytes, needed_bytes, usable_bytes, weights_bytes, prefill_bytes }) {
  if (needed_bytes === null) return "";
  const parts = [
    `weights ${bytes(weights_bytes ?? 0)}`,
    `a conversation of ${count(context_tokens)} tokens ${bytes(kv_bytes ?? 0)}`,
    `reading it ${bytes(prefill_bytes ?? 0)}`,
  ];
  return `${bytes(needed_bytes)} of ${bytes(usable_bytes)} usable memory: ${parts.join(", ")}`;
}

/** @param {Machine} machine */
export function machineWords({ bandwidth, chip, device, memory_bytes }) {
  const kind = { apple: "unified memory", nvidia: "GPU memory", cpu: "memory" }[device];
  return [chip, `${bytes(memory_bytes)} of ${kind}`, bandwidth && `${bytes(bandwidth)} a second`].filter(Boolean).join(" · ");
}

/** What the hub says of a model, in a line. @param {Found} found */
export function foundLine({ downloads, license, likes, mlx, parameters, size, updated_at }) {
  return [
    size && bytes(size),
    // The hub counts packed numbers as they are stored, several in one.
    !mlx && parameterWords(parameters),
    license,
    `${rough.format(downloads)} ${downloads === 1 ? "download" : "downloads"}`,
    likes > 0 && `${rough.format(likes)} ${likes === 1 ? "like" : "likes"}`,
    updated_at && `updated ${day.format(new Date(updated_at))}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @type {Record<Found["gated"], string>} */
export const GATED = {
  no: "",
  auto: "Its page on the hub asks for an agreement. Agree there, log in with `hf auth login` or set `HF_TOKEN`, then download it here.",
  manual:
    "Its owners decide who may have it. Ask them on its page on the hub; once they agree, log in with `hf auth login` or set `HF_TOKEN`, then download it here.",
};

/** What a download is about. @param {Download} download */
export const downloadTitle = ({ bits, repo_id }) => (bits ? `${repo_id}, converted to ${bits}-bit` : repo_id);

/** @type {Record<Download["phase"], string>} */
const PHASES = { asking: "Asking the hub", downloading: "Downloading", verifying: "Checking what came", converting: "Converting" };

/** @param {Download} download */
export function downloadState({ phase, state }) {
  if (state === "running") return PHASES[phase];
  return { queued: "Waiting for its turn", paused: "Paused", done: "Done", failed: "Failed", cancelled: "Cancelled" }[state];
}

/** How far it is, in a line. @param {Download} download */
export function downloadLine({ bytes: done, file, files, files_done, rate, state, total }) {
  const running = state === "running";
  return [
    total > 0 && (state === "done" ? bytes(total) : bytesOf(done, total)),
    running && rate > 0 && `${bytes(rate)}/s`,
    running && rate > 0 && total > done && `${seconds(Math.max(1, (total - done) / rate))} left`,
    running && file && `file ${count(Math.min(files_done + 1, files))} of ${count(files)}: ${file}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * The phase of a change of the served model, in words.
 *
 * @param {Switch} change
 * @param {Engine} engine
 */
export function switchWords({ name, state }, { bytes_done, bytes_total, model }) {
  switch (state) {
    case "draining":
      return "Waiting for the last answers";
    case "loading":
      return bytes_total > 0 ? `Loading ${bytesOf(bytes_done, bytes_total)}` : `Starting ${name}`;
    case "returning":
      return `${name} cannot be loaded. The model from before is coming back`;
    case "done":
      return `${name} answers now`;
    default:
      return model ? `${name} could not be loaded; ${model.name} is back` : `${name} could not be loaded`;
  }
}
