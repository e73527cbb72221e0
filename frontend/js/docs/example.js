/** @import { ApiDocument, Operation, Schema } from "./document.js" */

/**
 * A value that fits a schema: of an object only what must be there.
 *
 * @param {Schema} given
 * @param {ApiDocument} api
 * @param {readonly string[]} inside  names of the objects around it; one inside itself is left empty
 * @returns {unknown}
 */
export function exampleOf(given, api, inside = []) {
  const { schema, name } = api.resolve(given);
  if (name && inside.includes(name)) return {};
  const around = name ? [...inside, name] : inside;
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return exampleOf(choices.find((/** @type {Schema} */ one) => one.type !== "null") ?? {}, api, around);
  if (schema.properties) return exampleObject(schema, api, around);
  return exampleOfType(schema, api, around);
}

/** @type {typeof exampleOf} */
function exampleObject(schema, api, inside) {
  const required = /** @type {string[]} */ (schema.required ?? []);
  return Object.fromEntries(required.map((key) => [key, exampleOf(schema.properties[key], api, inside)]));
}

/** @type {typeof exampleOf} */
function exampleOfType(schema, api, inside) {
  if (schema.type === "array") return schema.minItems ? [exampleOf(schema.items ?? {}, api, inside)] : [];
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "boolean") return false;
  if (schema.type === "null") return null;
  return schema.type === "string" ? "text" : {};
}

/**
 * The body that the form begins with; empty where JSON is not what the route takes.
 *
 * @param {Operation} operation
 * @param {ApiDocument} api
 */
export function exampleBody({ body }, api) {
  const media = body?.content["application/json"];
  if (!media) return "";
  return JSON.stringify(media.example ?? exampleOf(media.schema ?? {}, api), null, 2);
}

/**
 * The request as a line for a shell.
 *
 * @param {{method: string, url: string, body: string, needsKey: boolean}} request
 */
export function curlOf({ method, url, body, needsKey }) {
  const parts = [`curl ${quoted(url)}`];
  if (method !== "GET" && !(method === "POST" && body)) parts.push(`-X ${method}`);
  if (needsKey) parts.push(`-H "Authorization: Bearer $FIRESIDE_API_KEY"`);
  if (body) parts.push(`-H "Content-Type: application/json"`, `-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
