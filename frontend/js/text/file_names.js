/** What files of a language end with, where that is not the language's own name. */
const ENDINGS = {
  bash: "sh", shell: "sh", zsh: "sh", console: "sh", powershell: "ps1", bat: "bat", batch: "bat",
  python: "py", python3: "py", javascript: "js", typescript: "ts", ruby: "rb", rust: "rs", perl: "pl", haskell: "hs",
  kotlin: "kt", csharp: "cs", "c#": "cs", "c++": "cpp", "f#": "fs", fsharp: "fs", "objective-c": "m", golang: "go",
  markdown: "md", yaml: "yaml", text: "txt", plaintext: "txt", plain: "txt", latex: "tex", postgresql: "sql",
  elixir: "ex", erlang: "erl", clojure: "clj", julia: "jl", matlab: "m", fortran: "f90", makefile: "mk", patch: "diff",
  scheme: "scm", ocaml: "ml", nginx: "conf", apache: "conf", jsonc: "json", svelte: "svelte", vue: "vue",
};

const KINDS = new Map(Object.entries(ENDINGS));
const LONGEST = 100;

/**
 * The name of the file that a code block is saved as.
 *
 * @param {string} language  "" if it is not known
 * @param {string} name  what the block itself is called, "" for nothing
 * @returns {string}
 */
export function fileName(language, name) {
  const clean = name && cleaned(name);
  if (clean) return clean;
  const known = KINDS.get(language.toLowerCase());
  return `code.${known ?? (/^[a-z0-9]{1,10}$/i.test(language) ? language.toLowerCase() : "txt")}`;
}

/** Only where there is a name: so large a class of characters takes many milliseconds to compile. @param {string} name */
function cleaned(name) {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  return base.replace(/[\p{C}<>:"|?*]/gu, "").replace(/^[.\s]+/, "").trim().slice(-LONGEST);
}
