/**
 * What to paste so that other programs use Fireside.
 *
 * @typedef {{base: string, model: string, key: string}} Access
 *   base: Fireside's address without a path; key: what stands for the key in the text
 */

/** @param {Access} access */
const openaiPython = ({ base, model, key }) => `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;

/** @param {Access} access */
const anthropicPython = ({ base, model, key }) => `from anthropic import Anthropic

client = Anthropic(base_url="${base}", api_key="${key}")
answer = client.messages.create(
    model="${model}",
    max_tokens=1000,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[-1].text)`;

/** @param {Access} access */
const curl = ({ base, model, key }) => `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`;

/** @param {Access} access */
const environment = ({ base, key }) => `export OPENAI_BASE_URL="${base}/v1"
export OPENAI_API_KEY="${key}"
export ANTHROPIC_BASE_URL="${base}"
export ANTHROPIC_API_KEY="${key}"`;

/** @type {readonly {id: string, name: string, text: (access: Access) => string}[]} */
export const SNIPPETS = [
  { id: "openai", name: "OpenAI · Python", text: openaiPython },
  { id: "anthropic", name: "Anthropic · Python", text: anthropicPython },
  { id: "curl", name: "curl", text: curl },
  { id: "environment", name: "Environment", text: environment },
];
