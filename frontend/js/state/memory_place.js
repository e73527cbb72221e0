import { placeHref } from "./router.js";

/**
 * What the memory's address names. No article's name begins with a dot or has an empty part, so `.new` and the like
 * are places beside the articles, and a heading follows after `//`.
 *
 * @typedef {{kind: "list" | "about" | "proposals"} | {kind: "new", name: string}
 *   | {kind: "article", name: string, heading: string}} MemoryPlace
 */

const ABOUT = ".about";
const PROPOSALS = ".proposals";
const NEW = ".new";

/** @param {string} place @returns {MemoryPlace} */
export function memoryPlace(place) {
  if (place === "") return { kind: "list" };
  if (place === ABOUT) return { kind: "about" };
  if (place === PROPOSALS) return { kind: "proposals" };
  if (place === NEW || place.startsWith(`${NEW}/`)) return { kind: "new", name: place.slice(NEW.length + 1) };
  const [name = "", ...rest] = place.split("//");
  return { kind: "article", name, heading: rest.join("//") };
}

/** @param {string} name @param {string} [heading] */
export const articleHref = (name, heading = "") => placeHref("memory", heading ? `${name}//${heading}` : name);

/** @param {string} [name] */
export const newHref = (name = "") => placeHref("memory", name ? `${NEW}/${name}` : NEW);

export const listHref = placeHref("memory");
export const aboutHref = placeHref("memory", ABOUT);
export const proposalsHref = placeHref("memory", PROPOSALS);
