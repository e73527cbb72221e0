/** @import { ApiDocument, Schema } from "./document.js" */

const BOUNDS = /** @type {const} */ ([
  ["minimum", "≥"],
  ["exclusiveMinimum", ">"],
  ["maximum", "≤"],
  ["exclusiveMaximum", "<"],
]);

/**
 * A schema's type in a few words, objects by their names.
 *
 * @param {Schema} given
 * @param {ApiDocument} api
 * @returns {string}
 */
export function typeWords(given, api) {
  const { schema, name } = api.resolve(given);
  if (name) return name;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" or ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((/** @type {Schema} */ choice) => typeWords(choice, api)))].join(" or ");
  if (schema.type === "array") return schema.items ? `list of ${typeWords(schema.items, api)}` : "list";
  if (schema.type === "object" && schema.additionalProperties) {
    return `object of ${typeWords(schema.additionalProperties, api)}`;
  }
  return [schema.type ?? "anything", ...bounds(schema)].join(" ");
}

/** @param {Schema} schema @returns {string[]} */
function bounds(schema) {
  const { minimum, maximum, minLength, maxLength } = schema;
  const words = minimum !== undefined && maximum !== undefined ? [`from ${minimum} to ${maximum}`] : signed(schema);
  if (minLength) words.push(`at least ${minLength} long`);
  if (maxLength !== undefined) words.push(`at most ${maxLength} long`);
  return words;
}

/** @param {Schema} schema */
function signed(schema) {
  return BOUNDS.filter(([key]) => schema[key] !== undefined).map(([key, sign]) => `${sign} ${schema[key]}`);
}

/**
 * The named objects that a schema is made of, those inside lists and choices too.
 *
 * @param {Schema} given
 * @param {ApiDocument} api
 * @returns {{name: string, schema: Schema}[]}
 */
export function partsOf(given, api) {
  const { schema, name } = api.resolve(given);
  if (name && schema.properties) return [{ name, schema }];
  const inner = [...(schema.anyOf ?? schema.oneOf ?? []), schema.items, schema.additionalProperties];
  const parts = inner.filter((part) => part && typeof part === "object").flatMap((part) => partsOf(part, api));
  return parts.filter((part, index) => parts.findIndex((other) => other.name === part.name) === index);
}
