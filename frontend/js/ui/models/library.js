import { useEffect } from "../../lib.js";
import { useApp } from "../context.js";

/** The models on this machine, read anew when another one is served, or Fireside has come back. */
export function useLibrary() {
  const { engine, library } = useApp();
  const present = engine.current.value?.engine;
  const served = present?.phase === "ready" ? present.model?.id : "";
  const reachable = engine.reachable.value;
  useEffect(() => {
    if (reachable !== false) void library.load();
  }, [served, reachable]);
  return library;
}

/** When the served model answers: one that nobody asked for long is not in memory. */
export function useServedWords() {
  return useApp().engine.current.value?.engine.phase === "idle" ? "Answers with the next message" : "Answers now";
}

/** The id of the model that answers, or will with the next message; "" for none. */
export function useServed() {
  const { engine } = useApp();
  const present = engine.current.value?.engine;
  const there = present?.phase === "ready" || present?.phase === "idle" || present?.phase === "restarting";
  return (there && present.model?.id) || "";
}
