// The @anthropic-ai/sdk package: messages, the stream helper, tools, token counts and its error classes.

import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

import { rejection, report, url } from "./results.mjs";

const client = new Anthropic({ baseURL: url, apiKey: "unused", maxRetries: 0 });
const fine = [{ role: "user", content: "Repeat: one fine day" }];
const run = [{ role: "user", content: "Run `ls -la /tmp`" }];
const person = [{ role: "user", content: "Give me JSON with name = Ada and age = 36" }];
// Bounded, for the model would go on for ever.
const Person = z.object({ name: z.string().max(8), age: z.number().int().min(0).max(150) });
const bash = {
  name: "bash",
  description: "Run a command.",
  input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};

const ask = (messages, fields) => ({ model: "any", temperature: 0, max_tokens: 300, messages, ...fields });
const textOf = (message) => message.content.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const callsIn = (message) => message.content.filter(({ type }) => type === "tool_use");

await report({
  async message() {
    const message = await client.messages.create(ask(fine));
    return [message.role, textOf(message), message.stop_reason, message.usage.output_tokens > 0];
  },

  async stream() {
    const texts = [];
    const stream = client.messages.stream(ask(fine)).on("text", (delta) => texts.push(delta));
    const message = await stream.finalMessage();
    return [texts.join(""), texts.length > 2, textOf(message), message.stop_reason];
  },

  async events() {
    const types = new Set();
    for await (const event of await client.messages.create(ask(fine, { stream: true }))) types.add(event.type);
    return [...types];
  },

  async thoughts() {
    const message = await client.messages.create(ask(fine, { thinking: { type: "adaptive" } }));
    return message.content.map(({ type }) => type);
  },

  async toolsGoRound() {
    const asked = await client.messages.create(ask(run, { tools: [bash] }));
    const [use] = callsIn(asked);
    const result = { type: "tool_result", tool_use_id: use.id, content: "total 3\nnotes.md" };
    const history = [
      ...run,
      { role: "assistant", content: asked.content },
      { role: "user", content: [result] },
    ];
    const told = await client.messages.create(ask(history, { tools: [bash] }));
    return [asked.stop_reason, use.name, use.input, textOf(told)];
  },

  async toolsInAStream() {
    const parts = [];
    const stream = client.messages.stream(ask(run, { tools: [bash] })).on("inputJson", (delta) => parts.push(delta));
    const [use] = callsIn(await stream.finalMessage());
    return [JSON.parse(parts.join("")), use.input];
  },

  async forcedTool() {
    const message = await client.messages.create(
      ask(run, { tools: [bash], tool_choice: { type: "tool", name: "bash", disable_parallel_tool_use: true } }),
    );
    return callsIn(message).map(({ name, input }) => [name, input]);
  },

  async parsed() {
    const format = { output_config: { format: zodOutputFormat(Person) } };
    return (await client.messages.parse(ask(person, format))).parsed_output.age;
  },

  async counted() {
    const count = await client.messages.countTokens({ model: "any", messages: fine });
    const { usage } = await client.messages.create(ask(fine));
    return count.input_tokens === usage.input_tokens + (usage.cache_read_input_tokens ?? 0);
  },

  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    return ids;
  },

  async errors() {
    const wrong = await rejection(client.messages.create(ask(fine, { max_tokens: 0 })));
    const missing = await rejection(client.messages.batches.retrieve("batch_x"));
    return [
      [wrong instanceof Anthropic.BadRequestError, wrong.error.error.type],
      [missing instanceof Anthropic.NotFoundError, missing.status],
    ];
  },

  async errorInAStream() {
    const count = [{ role: "user", content: "Count to 5000." }];
    const stream = client.messages.stream(ask(count, { max_tokens: 4000, deadline_s: 1 }));
    const failed = await rejection(stream.finalMessage());
    return [failed instanceof Anthropic.APIError, failed.error?.error?.message];
  },
});
