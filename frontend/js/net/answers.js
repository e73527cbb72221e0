/** What a route of Fireside answered when it did not do what it was asked. */
export class RouteError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {any} body
   */
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/**
 * Ask a route that answers JSON.
 *
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>} rejected with a RouteError, or with the browser's own error where nothing answered
 */
export async function askRoute(path, init) {
  const response = await fetch(path, { cache: "no-store", ...init });
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  throw new RouteError(response.status, body?.error?.message ?? `Fireside answered ${response.status}.`, body);
}

/**
 * @param {string} path
 * @param {unknown} body
 */
export const postJson = (path, body) => sendJson("POST", path, body);

/**
 * @param {"POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 */
export function sendJson(method, path, body) {
  if (body === undefined) return askRoute(path, { method });
  const headers = { "Content-Type": "application/json" };
  return askRoute(path, { method, headers, body: JSON.stringify(body) });
}

/** @param {unknown} error  of `askRoute` */
export function reasonOf(error) {
  return error instanceof RouteError ? error.message : "Fireside does not answer.";
}
