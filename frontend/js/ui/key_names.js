const MAC = navigator.platform.startsWith("Mac");

/** How the shortcuts are written on this system. */
export const keyNames = {
  approval: MAC ? "⌥⇧A" : "Alt ⇧ A",
  newChat: MAC ? "⌥⇧N" : "Alt ⇧ N",
  filter: MAC ? "⌥⇧F" : "Alt ⇧ F",
  palette: MAC ? "⌘K" : "Ctrl K",
  newLine: MAC ? "⇧ Enter" : "Shift Enter",
};

/** All shortcuts in words, for the settings. @type {readonly {keys: string, does: string}[]} */
export const shortcuts = [
  { keys: keyNames.palette, does: "Search everything, and do anything by its name" },
  { keys: keyNames.newChat, does: "Start a new chat" },
  { keys: keyNames.filter, does: "Search the chats of the list" },
  { keys: keyNames.approval, does: "Go to the call that asks you" },
  { keys: "Esc", does: "Stop the answer; close what is open; leave the search" },
  { keys: "Enter", does: "In the message box: send" },
  { keys: keyNames.newLine, does: "In the message box: a new line" },
];
