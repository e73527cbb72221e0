// The ai package: texts, streams, tools in steps and objects, over chat completions and over Messages.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, Output, embedMany, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { embedderUrl, rejection, report, url } from "./results.mjs";

const openai = createOpenAICompatible({
  name: "fireside",
  baseURL: `${url}/v1`,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: "unused" });
const run = "Run `ls -la /tmp`";
// Bounded, for the model would go on for ever.
const Person = z.object({ name: z.string().max(8), age: z.number().int().min(0).max(150) });
const bash = tool({
  description: "Run a command.",
  inputSchema: z.object({ command: z.string() }),
  execute: ({ command }) => `I ran ${command}\nand that is all.`,
});

const checksOf = (model) => {
  const ask = (prompt, fields) => ({ model, prompt, temperature: 0, maxOutputTokens: 300, maxRetries: 0, ...fields });
  const withTool = { tools: { bash }, stopWhen: stepCountIs(3) };
  const asObject = { output: Output.object({ schema: Person }) };
  const json = "Give me JSON with name = Ada and age = 36";

  return {
    async text() {
      const { text, finishReason, usage } = await generateText(ask("Repeat: one fine day"));
      return [text, finishReason, usage.inputTokens > 0 && usage.outputTokens > 0];
    },

    async stream() {
      const result = streamText(ask("Repeat: one fine day"));
      const deltas = [];
      for await (const delta of result.textStream) deltas.push(delta);
      return [deltas.join(""), deltas.length > 2, await result.finishReason, (await result.usage).outputTokens > 0];
    },

    async tools() {
      const { text, steps } = await generateText(ask(run, withTool));
      return [steps.map(({ finishReason }) => finishReason), steps[0].toolCalls[0].input, text];
    },

    async toolsInAStream() {
      const result = streamText(ask(run, withTool));
      const types = new Set();
      for await (const { type } of result.fullStream) types.add(type);
      const wanted = ["tool-input-delta", "tool-call", "tool-result", "text-delta"];
      return [wanted.filter((type) => types.has(type)), await result.text];
    },

    async object() {
      return (await generateText(ask(json, asObject))).output.age;
    },

    async objectInAStream() {
      const result = streamText(ask(json, asObject));
      let last;
      for await (const partial of result.partialOutputStream) last = partial;
      return [last.age, (await result.output).age];
    },

    async errors() {
      const tooLong = await rejection(generateText(ask("word ".repeat(9000))));
      return [APICallError.isInstance(tooLong), tooLong.statusCode, tooLong.message];
    },
  };
};

const embeddings = async () => {
  const embedder = createOpenAICompatible({ name: "fireside", baseURL: `${embedderUrl}/v1` });
  const { embeddings: vectors } = await embedMany({
    model: embedder.embeddingModel("any"),
    values: ["a", "b"],
    maxRetries: 0,
  });
  return vectors.map(({ length }) => length);
};

await report({
  chat: checksOf(openai("any")),
  // By its name it is a model that can be held to a schema.
  messages: checksOf(anthropic("claude-sonnet-4-5")),
  embeddings,
});
