import { dress, extendCode, highlight } from "./code_blocks.js";
import { keepReachable } from "./formulas.js";
import { measureLists } from "./long_lists.js";
import { morph } from "./morph.js";
import { linkArticles } from "./wikilinks.js";

/** Shows an answer's rendered Markdown, one element a block; blocks that did not change are not touched. */
export class BlockView {
  #root;
  /** @type {string[]} */
  #shown = [];
  #finished = 0;

  /** @param {Element} root  an empty element */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {readonly string[]} blocks  HTML from the server's renderer, which is safe to insert
   * @param {number} finished  how many of them will not change any more
   * @returns {Element[]} the elements of the blocks that are finished since the last call
   */
  show(blocks, finished) {
    this.#truncate(blocks.length);
    blocks.forEach((html, index) => {
      if (html !== this.#shown[index]) this.#replace(index, html);
    });
    this.#shown = [...blocks];
    const fresh = [...this.#root.children].slice(this.#finished, finished);
    for (const block of fresh) {
      void highlight(block);
      keepReachable(block);
    }
    this.#finished = Math.min(finished, blocks.length);
    return fresh;
  }

  /** @param {number} length */
  #truncate(length) {
    while (this.#root.children.length > length) this.#root.lastElementChild?.remove();
    this.#finished = Math.min(this.#finished, length);
  }

  /**
   * @param {number} index
   * @param {string} html
   */
  #replace(index, html) {
    const block = this.#root.children[index] ?? this.#append();
    if (index >= this.#finished && extendCode(block, this.#shown[index] ?? "", html)) return;
    const template = document.createElement("template");
    template.innerHTML = html;
    dress(template.content);
    measureLists(template.content);
    linkArticles(template.content);
    if (index < this.#finished) {
      block.replaceChildren(template.content);
      this.#finished = index;
    } else morph(block, template.content);
  }

  #append() {
    const block = document.createElement("div");
    block.className = "block";
    block.dir = "auto";
    this.#root.append(block);
    return block;
  }
}
