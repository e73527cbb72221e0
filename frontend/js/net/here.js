const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the page's Fireside runs on this machine, so that no network is needed to reach it. */
export const isHere = LOOPBACK.test(location.hostname);
