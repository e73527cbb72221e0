// A classic script in the head: it runs before the first paint, so that no light page flashes in the dark
// and no text changes its size.
try {
  document.documentElement.dataset.theme = localStorage.getItem("fireside.theme") || "auto";
  const size = localStorage.getItem("fireside.text_size");
  if (size) document.documentElement.classList.add(`text-${size}`);
} catch {
  // The browser keeps nothing for this page; the system's choice applies.
}
