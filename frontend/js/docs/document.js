/**
 * What of OpenAPI 3.1 this page reads.
 *
 * @typedef {Record<string, any>} Schema
 * @typedef {{name: string, in: "query" | "path" | "header", description: string, required: boolean, schema: Schema}} Parameter
 * @typedef {{schema?: Schema, example?: unknown}} Media
 * @typedef {{description: string, headers?: Record<string, {description: string, schema: Schema}>, content?: Record<string, Media>}} Answer
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} method
 * @property {string} path
 * @property {string} tag
 * @property {string} summary
 * @property {string} description
 * @property {Parameter[]} parameters
 * @property {{required: boolean, content: Record<string, Media>} | undefined} body
 * @property {[string, Answer][]} answers
 */

const METHODS = ["get", "post", "put", "patch", "delete"];

/** An OpenAPI document, in the order in which it is read. */
export class ApiDocument {
  #raw;

  /** @param {any} raw */
  constructor(raw) {
    this.#raw = raw;
  }

  /** @returns {string} */
  get version() {
    return this.#raw.info.version;
  }

  get needsKey() {
    return Boolean(this.#raw.security?.length);
  }

  /** @returns {{tag: string, operations: Operation[]}[]} */
  get groups() {
    const all = this.#operations();
    const tags = [...new Set([...this.#raw.tags.map((/** @type {{name: string}} */ tag) => tag.name), ...all.map(({ tag }) => tag)])];
    return tags
      .map((tag) => ({ tag, operations: all.filter((operation) => operation.tag === tag) }))
      .filter(({ operations }) => operations.length);
  }

  /** @returns {Operation[]} */
  #operations() {
    return Object.entries(this.#raw.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({
        id: item[method].operationId,
        method: method.toUpperCase(),
        path,
        tag: item[method].tags?.[0] ?? "Other",
        summary: item[method].summary ?? "",
        description: item[method].description ?? "",
        parameters: item[method].parameters ?? [],
        body: item[method].requestBody,
        answers: Object.entries(item[method].responses),
      })),
    );
  }

  /**
   * A schema without a reference in front, and the name under which it is kept, if it is.
   *
   * @param {Schema} schema
   * @returns {{schema: Schema, name: string}}
   */
  resolve(schema) {
    let name = "";
    let found = schema;
    while (found.$ref) {
      name = found.$ref.slice(found.$ref.lastIndexOf("/") + 1);
      found = this.#raw.components.schemas[name] ?? {};
    }
    return { schema: found, name };
  }
}
