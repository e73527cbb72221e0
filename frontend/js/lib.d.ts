/** The types of what `lib.js` hands on, from the packages that the vendored files come out of. */

import type { VNode } from "preact";

export { Fragment, createContext, render } from "preact";
export { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
export { Signal, batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";

export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

interface Highlighter {
  getLanguage(name: string): unknown;
  highlight(text: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
}

export function loadHighlighter(): Promise<Highlighter | null>;
