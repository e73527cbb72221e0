/** @import { IconName } from "../ui/icons.js" */

/** Questions that the smallest model answers well. */
export const EXAMPLES = [
  "What is the capital of France?",
  "What does a gardener do?",
  "Write one sentence about the sea",
  "What is photosynthesis?",
];

/** @param {number} hour */
export function greeting(hour) {
  if (hour >= 5 && hour < 12) return "Good morning";
  return hour >= 12 && hour < 18 ? "Good afternoon" : "Good evening";
}

/**
 * What Fireside is, for whom sees it for the first time.
 *
 * @param {boolean} upstream  another server answers
 * @returns {{icon: IconName, words: string}[]}
 */
export function aboutWords(upstream) {
  return [
    {
      icon: "flame",
      words: upstream
        ? "A place to talk with language models. Another server answers just now, so what you write is sent there."
        : "Language models that run on this machine: what you write stays here, and it works without the internet.",
    },
    { icon: "tool", words: "They can use tools: read files, search the web, run commands. What changes something asks you first." },
    { icon: "book", words: "Chats and memory are kept on this machine, as yours. The model remembers only what you have said yes to." },
  ];
}
