/** Rendered Markdown as text to read anywhere: without markup, with the LaTeX of formulas. */

const BLOCKS = new Set([
  ..."P H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE PRE TABLE HR DIV FIGURE FIGCAPTION SECTION ARTICLE".split(" "),
]);

/**
 * @param {Node} root  rendered Markdown, or what was selected of it
 * @returns {string}
 */
export function plainText(root) {
  return blocks(root).join("\n\n").trim();
}

/** What a formula was written as. @param {Element} math */
export function formulaSource(math) {
  const source = math.getAttribute("alttext") ?? "";
  if (source.startsWith("\\begin")) return source;
  return math.getAttribute("display") === "block" ? `$$${source}$$` : `$${source}$`;
}

/** @param {Node} parent @returns {string[]} */
function blocks(parent) {
  /** @type {string[]} */
  const done = [];
  let line = "";
  const end = () => {
    if (line.trim()) done.push(line.trim());
    line = "";
  };
  for (const child of parent.childNodes) {
    if (!(child instanceof Element) || !BLOCKS.has(child.tagName)) {
      line += inline(child);
      continue;
    }
    end();
    const text = block(child);
    if (text) done.push(text);
  }
  end();
  return done;
}

/** @param {Element} element @returns {string} */
function block(element) {
  switch (element.tagName) {
    case "PRE":
      return (element.textContent ?? "").replace(/\n$/, "");
    case "UL":
      return items(element, () => "• ");
    case "OL":
      return items(element, (index) => `${Number(element.getAttribute("start") ?? 1) + index}. `);
    case "TABLE":
      return [...element.querySelectorAll("tr")].map(row).join("\n");
    case "BLOCKQUOTE":
      return blocks(element).join("\n\n").replace(/^/gm, "> ");
    case "HR":
      return "———";
    case "FIGCAPTION":
      return "";
    case "LI":
      return blocks(element).join("\n");
    default:
      return blocks(element).join(element.className === "note" ? " " : "\n\n");
  }
}

/** @param {Element} list @param {(index: number) => string} mark */
function items(list, mark) {
  return [...list.children]
    .map((item, index) => {
      const start = item.querySelector(":scope > .task__box") ? "" : mark(index);
      return start + block(item).replace(/\n/g, `\n${" ".repeat(start.length || 2)}`);
    })
    .join("\n");
}

/** @param {Element} element */
function row(element) {
  return [...element.children].map((cell) => inline(cell).trim()).join("\t");
}

/** @param {Node} node @returns {string} */
function inline(node) {
  if (node instanceof Text) return node.data.replace(/\s+/g, " ");
  if (!(node instanceof Element)) return "";
  if (node.localName === "math") return formulaSource(node);
  if (node instanceof HTMLButtonElement) return note(node);
  if (node instanceof HTMLImageElement) return node.alt;
  if (node instanceof HTMLBRElement) return "\n";
  if (node.classList.contains("task__box")) return node.classList.contains("task__box--done") ? "☑ " : "☐ ";
  return [...node.childNodes].map(inline).join("");
}

/** @param {HTMLButtonElement} button */
function note({ dataset }) {
  const label = dataset["note"] ?? dataset["noteBack"];
  return label === undefined ? "" : `[${label}]`;
}
