/**
 * Lets the page open while Fireside is not running. It keeps the page's own files, and only to fall back on:
 * whatever the server has is used first, so an update is never held up by a cache.
 */

const CACHE = "fireside-shell-1";
const NETWORK_LIMIT_MS = 3_000;
const ROOT = "/";

/** A request is answered by the first rule that fits; without one the browser goes to the network itself. */
const RULES = [
  { fits: (request, url) => request.mode === "navigate" && url.pathname === ROOT, cacheKey: () => ROOT },
  { fits: (_, url) => url.pathname.startsWith("/assets/"), cacheKey: (url) => url.pathname },
  { fits: (_, url) => url.pathname === "/manifest.webmanifest", cacheKey: (url) => url.pathname },
];

self.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOldCaches().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  const rule = RULES.find(({ fits }) => fits(event.request, url));
  if (rule) event.respondWith(networkFirst(event, rule.cacheKey(url)));
});

async function networkFirst(event, key) {
  const fresh = fetch(event.request);
  // A failed fetch is the caller's to handle; here it only means that there is nothing to keep.
  event.waitUntil(fresh.then((response) => keep(key, response)).catch(() => undefined));
  try {
    const response = await within(NETWORK_LIMIT_MS, fresh);
    if (response.ok) return response;
  } catch {
    // Down, or too slow: see below.
  }
  // A page that is older than the server may ask for a file that only the cache still has. What was never
  // kept has to wait for the network, however long that takes.
  const cache = await caches.open(CACHE);
  return (await cache.match(key)) ?? fresh;
}

async function keep(key, response) {
  if (!response.ok) return;
  const copy = response.clone();
  const cache = await caches.open(CACHE);
  await cache.put(key, copy);
}

function within(limit, promise) {
  const late = new Promise((_, reject) => setTimeout(reject, limit, new Error("too slow")));
  return Promise.race([promise, late]);
}

/** Keeps the page and all that it names, and all that those name: there is no list of files to go stale. */
async function keepShell() {
  const cache = await caches.open(CACHE);
  const seen = new Set([ROOT]);
  for (const path of seen) {
    const response = await fetch(path, { cache: "no-cache" });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    for (const found of references(await response.clone().text(), path)) seen.add(found);
    await cache.put(path, response);
  }
}

/** The paths below /assets/ that a page, a manifest or a module refers to. */
function references(text, base) {
  const quoted = /(?:\b(?:src|href)=|"src":\s*|\bfrom\s*|\bimport\s*\(?\s*)"(\.{0,2}\/[^"]+)"/g;
  return [...text.matchAll(quoted)]
    .map(([, path]) => new URL(path, new URL(base, self.location.origin)).pathname)
    .filter((path) => RULES.some(({ fits }) => fits({ mode: "" }, { pathname: path })));
}

async function dropOldCaches() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
}
