/** @import { MessageModel } from "../state/message.js" */

import { effect, html, useLayoutEffect, useRef } from "../lib.js";
import { BlockView } from "../dom/block_view.js";
import { useApp } from "./context.js";

/**
 * A message's rendered text. Its children belong to a BlockView, not to Preact.
 *
 * @param {{model: MessageModel, onFinished?: (blocks: Element[]) => void}} props
 *   onFinished gets the blocks that were finished since the message is shown
 */
export function Markdown({ model, onFinished }) {
  const { painter } = useApp();
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (!root.current) return undefined;
    const view = new BlockView(root.current);
    view.show(model.blocks, model.finished);
    const paint = () => onFinished?.(view.show(model.blocks, model.finished));
    const stop = effect(() => {
      model.version.value;
      painter.request(paint);
    });
    return () => {
      stop();
      painter.cancel(paint);
    };
  }, [model]);
  return html`<div class="markdown" ref=${root}></div>`;
}
