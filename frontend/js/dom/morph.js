/**
 * Make the children of `present` equal to those of `wanted`, keeping every node that already is:
 * a selection, a scroll position or a focus inside an unchanged part survives.
 *
 * @param {Node} present
 * @param {Node} wanted  is taken apart
 */
export function morph(present, wanted) {
  const nodes = [...wanted.childNodes];
  nodes.forEach((node, index) => place(present, node, index));
  while (present.childNodes.length > nodes.length) present.lastChild?.remove();
}

/**
 * @param {Node} parent
 * @param {ChildNode} node
 * @param {number} index
 */
function place(parent, node, index) {
  const old = parent.childNodes[index];
  if (!old) parent.appendChild(node);
  else if (!old.isEqualNode(node)) update(old, node);
}

/**
 * @param {ChildNode} old
 * @param {ChildNode} node
 */
function update(old, node) {
  if (old instanceof Text && node instanceof Text) updateText(old, node.data);
  else if (old instanceof Element && node instanceof Element && old.tagName === node.tagName) {
    updateAttributes(old, node);
    morph(old, node);
  } else old.replaceWith(node);
}

/**
 * @param {Text} text
 * @param {string} wanted
 */
function updateText(text, wanted) {
  // Appending leaves a selection in the text alone, replacing does not.
  if (wanted.startsWith(text.data)) text.appendData(wanted.slice(text.data.length));
  else text.data = wanted;
}

/**
 * @param {Element} old
 * @param {Element} wanted
 */
function updateAttributes(old, wanted) {
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...wanted.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}
