import type { FileProblem } from "../../../domain/errors.ts";
import {
  addChange,
  applyChange,
  type DraftChange,
  type DraftFile,
  type Files,
  listTouched,
  restateChanges,
  takeBatch,
  toFiles,
} from "./draft.ts";

/** The draft as the service keeps it. */
export interface StoredDraft {
  readonly base: string | null;
  readonly head: string | null;
  readonly changed: boolean;
  readonly updatedAt: string | null;
  readonly version: number;
  readonly files: readonly DraftFile[];
  /** What would keep it from being a commit, its packages aside. */
  readonly problems: readonly FileProblem[];
}

/** What the service says to changes; `failed` may be sent again as it is. */
export type SaveAnswer =
  | {
      readonly kind: "saved";
      readonly version: number;
      readonly updatedAt: string;
      /** Whether it differs from the commit that it began with. */
      readonly changed: boolean;
      readonly problems: readonly FileProblem[];
    }
  | { readonly kind: "conflict" }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** `refused`: the service does not take the changes as they are; the next change is tried together with them. */
export type SaveStatus = "saved" | "unsaved" | "saving" | "offline" | "conflict" | "refused";

export interface DraftState {
  readonly files: Files;
  readonly base: string | null;
  readonly head: string | null;
  readonly version: number;
  readonly updatedAt: string | null;
  /** Whether there is anything to commit, as far as is known here. */
  readonly changed: boolean;
  readonly status: SaveStatus;
  /** Why it is not saved. Empty otherwise. */
  readonly message: string;
  /** What the service found wrong when it saved last. */
  readonly problems: readonly FileProblem[];
  /** Paths with changes that the service does not have yet. */
  readonly unsaved: readonly string[];
}

export interface DraftSaving {
  getState(): DraftState;
  subscribe(listener: () => void): () => void;
  change(...changes: readonly DraftChange[]): void;
  /** Saves what waits, now. True when everything is with the service afterwards. */
  saveNow(): Promise<boolean>;
  /** Another tab has saved: keep what was written here, on top of that; or take what it has saved. */
  resolveConflict(keep: "mine" | "theirs"): Promise<void>;
  /** Asks the service for what another tab may have saved. Does nothing while something waits here. */
  refresh(): Promise<void>;
  /** What the service has now, after a commit, a rebase or a discard. What waits stays, on top of it. */
  replace(draft: StoredDraft): void;
  close(): void;
}

export interface DraftSavingDeps {
  readonly save: (version: number, changes: readonly DraftChange[]) => Promise<SaveAnswer>;
  readonly load: () => Promise<StoredDraft>;
  /** Calls back once after so many milliseconds; what it answers takes that back. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** So long after the last change it is saved. */
const QUIET_MS = 700;
/** Without an answer it is tried again after these, the last again and again. */
const AGAIN_MS = [1_000, 2_000, 5_000, 10_000, 30_000];
const REQUEST_CHARACTERS_MAX = 4_000_000;

/** Keeps a draft with the service as it is written: one request at a time, each on top of the version before it. */
export function createDraftSaving(stored: StoredDraft, deps: DraftSavingDeps): DraftSaving {
  const listeners = new Set<() => void>();
  let waiting: DraftChange[] = [];
  let state = toState(stored);
  let sending: Promise<void> | undefined;
  let takeBack = (): void => undefined;
  let failures = 0;
  let closed = false;

  function set(part: Partial<DraftState>): void {
    tell({ ...part, unsaved: listTouched(waiting) });
  }

  /** What is on its way is not saved yet, though it no longer waits. */
  function tell(part: Partial<DraftState>): void {
    state = { ...state, ...part };
    for (const listener of listeners) listener();
  }

  /** On top of what the service has, whatever waits here. */
  function take(stored: StoredDraft): void {
    const files = waiting.reduce(applyChange, toFiles(stored.files));
    const changed = stored.changed || waiting.length > 0;
    const status = waiting.length > 0 ? "unsaved" : "saved";
    set({ ...toState(stored), files, changed, status });
  }

  function saveAfter(ms: number): void {
    takeBack();
    if (!closed) takeBack = deps.after(ms, () => void send());
  }

  /** One at a time: who asks meanwhile waits for the one that is under way. */
  function send(): Promise<void> {
    takeBack();
    sending ??= sendWaiting().finally(() => {
      sending = undefined;
    });
    return sending;
  }

  /** What waits now. What comes while it is under way has its own time. */
  async function sendWaiting(): Promise<void> {
    let owed = waiting.length;
    while (owed > 0 && waiting.length > 0 && !closed) {
      const batch = takeBatch(waiting, REQUEST_CHARACTERS_MAX);
      owed -= batch.length;
      waiting = waiting.slice(batch.length);
      tell({ status: "saving", message: "" });
      const answer = await deps.save(state.version, batch);
      if (answer.kind !== "saved") {
        waiting = batch.concat(waiting);
        return stop(answer);
      }
      failures = 0;
      const { version, updatedAt, problems } = answer;
      const hasMore = waiting.length > 0;
      set({ version, updatedAt, problems, changed: hasMore || answer.changed, status: hasMore ? "unsaved" : "saved" });
    }
    if (waiting.length > 0) saveAfter(QUIET_MS);
  }

  function stop(answer: Exclude<SaveAnswer, { kind: "saved" }>): void {
    if (answer.kind === "conflict") return set({ status: "conflict", message: "" });
    set({ status: answer.kind === "failed" ? "offline" : "refused", message: answer.message });
    if (answer.kind === "refused") return;
    saveAfter(AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)] as number);
    failures += 1;
  }

  async function resolveConflict(keep: "mine" | "theirs"): Promise<void> {
    const theirs = await deps.load();
    waiting = keep === "mine" ? restateChanges(waiting, state.files, toFiles(theirs.files)) : [];
    take(theirs);
    await send();
  }

  async function refresh(): Promise<void> {
    if (waiting.length > 0 || sending !== undefined || closed) return;
    const { version } = state;
    const theirs = await deps.load();
    // Meanwhile something may have been written here.
    const isQuiet = waiting.length === 0 && sending === undefined && state.version === version;
    if (isQuiet && (theirs.version !== version || theirs.head !== state.head)) take(theirs);
  }

  return {
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    change(...changes) {
      for (const change of changes) waiting = addChange(waiting, change);
      const status = state.status === "conflict" || state.status === "saving" ? state.status : "unsaved";
      set({ files: changes.reduce(applyChange, state.files), changed: true, status });
      if (status !== "conflict") saveAfter(QUIET_MS);
    },
    async saveNow() {
      if (state.status === "conflict") return false;
      do await send();
      while (waiting.length > 0 && state.status === "unsaved");
      return waiting.length === 0;
    },
    resolveConflict,
    refresh,
    replace: take,
    close() {
      closed = true;
      takeBack();
    },
  };
}

function toState({ files, base, head, version, updatedAt, changed, problems }: StoredDraft): DraftState {
  const status = { status: "saved" as const, message: "", unsaved: [] };
  return { files: toFiles(files), base, head, version, updatedAt, changed, problems, ...status };
}
