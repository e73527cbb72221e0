// The openai package: chat, completions and Responses, their helpers and its error classes.

import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

import { embedderUrl, rejection, report, url } from "./results.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0 });
const fine = [{ role: "user", content: "Repeat: one fine day" }];
const run = [{ role: "user", content: "Run `ls -la /tmp`" }];
const both = [{ role: "user", content: "Run `ls -la` and read notes.md" }];
const person = [{ role: "user", content: "Give me JSON with name = Ada and age = 36" }];
// Bounded, for the model would go on for ever.
const Person = z.object({ name: z.string().max(8), age: z.number().int().min(0).max(150) });
const Command = z.object({ command: z.string() });
const bash = zodFunction({ name: "bash", description: "Run a command.", parameters: Command });
const read = zodFunction({ name: "read", description: "Read a file.", parameters: z.object({ path: z.string() }) });
const responseTool = { type: "function", ...bash.function };

const ask = (messages, fields) => ({ model: "any", temperature: 0, max_completion_tokens: 300, messages, ...fields });
const respond = (input, fields) => ({ model: "any", temperature: 0, max_output_tokens: 300, input, ...fields });
const madeBy = (calls) => calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);

await report({
  async chat() {
    const answer = await client.chat.completions.create(ask(fine));
    const [choice] = answer.choices;
    return [choice.message.role, choice.message.content, choice.finish_reason, answer.usage.completion_tokens > 0];
  },

  async stream() {
    const fields = { stream: true, stream_options: { include_usage: true } };
    let text = "";
    let last;
    for await (const chunk of await client.chat.completions.create(ask(fine, fields))) {
      text += chunk.choices[0]?.delta?.content ?? "";
      last = chunk;
    }
    return [text, last.choices.length, last.usage.completion_tokens > 0];
  },

  async streamHelper() {
    const deltas = [];
    const stream = client.chat.completions.stream(ask(fine)).on("content", (delta) => deltas.push(delta));
    const final = await stream.finalChatCompletion();
    return [deltas.join(""), deltas.length > 2, final.choices[0].message.content];
  },

  async tools() {
    const answer = await client.chat.completions.create(ask(both, { tools: [bash, read] }));
    return [answer.choices[0].finish_reason, madeBy(answer.choices[0].message.tool_calls)];
  },

  async toolsInAStream() {
    const stream = client.chat.completions.stream(ask(both, { tools: [bash, read] }));
    const final = await stream.finalChatCompletion();
    return [final.choices[0].finish_reason, madeBy(final.choices[0].message.tool_calls)];
  },

  async toolsGoRound() {
    const runner = client.chat.completions.runTools(
      ask(run, {
        stream: true,
        tools: [
          {
            type: "function",
            function: {
              ...bash.function,
              parse: JSON.parse,
              function: ({ command }) => `I ran ${command}\nand that is all.`,
            },
          },
        ],
      }),
    );
    return runner.finalContent();
  },

  async parsed() {
    const format = { response_format: zodResponseFormat(Person, "person") };
    const answer = await client.chat.completions.parse(ask(person, format));
    return answer.choices[0].message.parsed.age;
  },

  async parsedCall() {
    const fields = { tools: [bash], tool_choice: "required", parallel_tool_calls: false };
    const answer = await client.chat.completions.parse(ask(run, fields));
    return answer.choices[0].message.tool_calls[0].function.parsed_arguments;
  },

  async completion() {
    const answer = await client.completions.create({ model: "any", prompt: "One, two,", max_tokens: 4, temperature: 0 });
    return [answer.object, answer.usage.completion_tokens];
  },

  async response() {
    const answer = await client.responses.create(respond("Repeat: one fine day"));
    const again = await client.responses.create(respond("Again.", { previous_response_id: answer.id }));
    const kept = await client.responses.retrieve(answer.id);
    return [answer.output_text, again.output_text, kept.output_text];
  },

  async responseStream() {
    const types = [];
    const stream = client.responses.stream(respond("Repeat: one fine day")).on("event", ({ type }) => types.push(type));
    const final = await stream.finalResponse();
    return [types[0], types.includes("response.output_text.delta"), types.at(-1), final.output_text];
  },

  async responseTools() {
    const asked = await client.responses.create(respond(run, { tools: [responseTool] }));
    const call = asked.output.find(({ type }) => type === "function_call");
    const result = { type: "function_call_output", call_id: call.call_id, output: "total 3\nnotes.md" };
    const told = await client.responses.create(
      respond([...run, ...asked.output, result], { tools: [responseTool] }),
    );
    return [call.name, JSON.parse(call.arguments), told.output_text];
  },

  async responseParsed() {
    const answer = await client.responses.parse(respond(person, { text: { format: zodTextFormat(Person, "person") } }));
    return answer.output_parsed.age;
  },

  async embeddings() {
    const embedder = new OpenAI({ baseURL: `${embedderUrl}/v1`, apiKey: "unused", maxRetries: 0 });
    // Unless told otherwise the client asks for base64.
    const coded = await embedder.embeddings.create({ model: "any", input: ["a", "b"] });
    const plain = await embedder.embeddings.create({ model: "any", input: ["a", "b"], encoding_format: "float" });
    const [left, right] = [coded, plain].map(({ data }) => data.flatMap(({ embedding }) => embedding));
    return [left.length, left.every((number, index) => Math.abs(number - right[index]) < 1e-6)];
  },

  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    return [ids, (await client.models.retrieve(ids[0])).id];
  },

  async errors() {
    const wrong = await rejection(client.chat.completions.create(ask(fine, { temperature: 9 })));
    const missing = await rejection(client.responses.retrieve("resp_x"));
    const streamed = await rejection(client.chat.completions.create(ask(fine, { stream: true, n: 0 })));
    return [
      [wrong instanceof OpenAI.BadRequestError, wrong.param, wrong.type],
      [missing instanceof OpenAI.NotFoundError, missing.status],
      [streamed instanceof OpenAI.BadRequestError, streamed.param],
    ];
  },

  async errorInAStream() {
    const count = [{ role: "user", content: "Count to 5000." }];
    const fields = { stream: true, max_completion_tokens: 4000, deadline_s: 1 };
    const consume = async () => {
      for await (const _ of await client.chat.completions.create(ask(count, fields)));
    };
    const failed = await rejection(consume());
    return [failed instanceof OpenAI.APIError, failed.message];
  },
});
