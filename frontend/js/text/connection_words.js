const KEPT = "This page connects by itself; what you write is kept until then.";

/**
 * Why nothing answers, as far as can be told, and what helps. The texts may have `code`.
 *
 * @param {{here: boolean, online: boolean, host: string}} condition  here: Fireside runs on this machine
 * @returns {{title: string, text: string}}
 */
export function unreachableWords({ here, online, host }) {
  if (here) {
    const text = `Start it in a terminal with \`fireside serve\`, or with \`make run\` in its folder. ${KEPT}`;
    return { title: "Fireside is not running.", text };
  }
  if (!online) {
    return { title: "This device is offline.", text: `Fireside runs on ${host} and is reached through a network. ${KEPT}` };
  }
  const text = `It may not be running on ${host}, or this device may be in another network. ${KEPT}`;
  return { title: "Fireside does not answer.", text };
}
