import { useEffect, useRef, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
/** `turn` tells news of the same words apart: they are said once more. */
let said = { words: "", turn: 0 };

/** Has a screen reader say something that others see: once, and after what it is saying. */
export function say(words: string): void {
  said = { words, turn: said.turn + 1 };
  for (const listener of listeners) listener();
}

const news = {
  get: () => said,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/** The one place that screen readers listen to for news that stand nowhere in particular. It is always there, and never seen. */
export function Announcer() {
  const { words, turn } = useSyncExternalStore(news.subscribe, news.get);
  return (
    <div className="unseen" role="status" aria-label="News">
      {words !== "" && <p key={turn}>{words}</p>}
    </div>
  );
}

/**
 * Announces `words` to screen readers once for each new value of `asked`. Announces nothing while either is missing.
 */
export function useFound(asked: string, words: string | undefined): void {
  const last = useRef("");
  useEffect(() => {
    if (asked === last.current || (asked !== "" && words === undefined)) return;
    last.current = asked;
    if (asked !== "" && words !== undefined) say(words);
  }, [asked, words]);
}
