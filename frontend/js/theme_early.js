// A classic script in the head: it runs before the first paint, so that no light page flashes in the dark.
try {
  document.documentElement.dataset.theme = localStorage.getItem("fireside.theme") || "auto";
} catch {
  // The browser keeps nothing for this page; the system's choice applies.
}
