/** What the view of the models consists of, by its places. */
export const SECTIONS = /** @type {const} */ ([
  { place: "here", title: "On this machine" },
  { place: "find", title: "Find" },
  { place: "downloads", title: "Downloads" },
  { place: "recommended", title: "Recommended" },
  { place: "clean-up", title: "Clean up" },
]);
