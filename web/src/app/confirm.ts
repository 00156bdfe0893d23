/** A question before something that cannot be undone. `act` is called when the answer is yes. */
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly act: () => void;
}

const listeners = new Set<() => void>();
let asked: Question | undefined;

/** Asks before something that cannot be taken back. One question at a time: another takes its place. */
export function confirm(question: Question): void {
  change(question);
}

/** What is being asked. For `useSyncExternalStore`. */
export const openQuestion = {
  get: (): Question | undefined => asked,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  close: (): void => change(undefined),
};

function change(question: Question | undefined): void {
  asked = question;
  for (const listener of listeners) listener();
}
