import type { z } from "zod";
import type { Draft, SavedDraft } from "../../../domain/api/drafts.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import {
  addChange,
  applyChange,
  type DraftChange,
  type Files,
  listTouched,
  restateChanges,
  takeBatch,
  toFiles,
} from "./draft.ts";

/** A file that two authors have changed. The draft has the text of its author, the commit the other one. */
export type DraftConflict = StoredDraft["conflicts"][number];

/** The draft as the service keeps it. */
export type StoredDraft = Omit<z.infer<typeof Draft>, "workflowId">;

/** What the service says to changes; `failed` may be sent again as it is. */
export type SaveAnswer =
  | ({ readonly kind: "saved" } & z.infer<typeof SavedDraft>)
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
  /** What the author has still to decide, here or in another browser. */
  readonly conflicts: readonly DraftConflict[];
  /** What the service found wrong when it saved last. */
  readonly problems: readonly FileProblem[];
  /** What it would warn of, and not refuse. */
  readonly warnings: readonly FileProblem[];
  /** Paths with changes that the service does not have yet. */
  readonly unsaved: readonly string[];
}

export interface DraftSaving {
  readonly getState: () => DraftState;
  readonly subscribe: (listener: () => void) => () => void;
  change(...changes: readonly DraftChange[]): void;
  /** Saves what waits, now. True when everything is with the service afterwards. */
  saveNow(): Promise<boolean>;
  /** Something else than this page has changed the draft: keep what was written here, on top of that; or take what there is now. */
  resolveConflict(keep: "mine" | "theirs"): Promise<void>;
  /** Asks the service for what another tab may have saved. Does nothing while something waits here. */
  refresh(): Promise<void>;
  /** What the service has now, after a commit or a rebase. What waits stays, on top of it. */
  replace(draft: StoredDraft): void;
  /** What is still to be decided, after something was. */
  setConflicts(conflicts: readonly DraftConflict[]): void;
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
  return new Saving(stored, deps);
}

class Saving implements DraftSaving {
  readonly #deps: DraftSavingDeps;
  readonly #listeners = new Set<() => void>();
  #waiting: DraftChange[] = [];
  #state: DraftState;
  #sending: Promise<void> | undefined;
  #takeBack = (): void => undefined;
  #failures = 0;

  constructor(stored: StoredDraft, deps: DraftSavingDeps) {
    this.#deps = deps;
    this.#state = toState(stored);
  }

  readonly getState = (): DraftState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  change(...changes: readonly DraftChange[]): void {
    for (const change of changes) this.#waiting = addChange(this.#waiting, change);
    const { status, files } = this.#state;
    const isBusy = status === "conflict" || status === "saving";
    this.#set({ files: changes.reduce(applyChange, files), changed: true, status: isBusy ? status : "unsaved" });
    if (status !== "conflict") this.#saveAfter(QUIET_MS);
  }

  async saveNow(): Promise<boolean> {
    if (this.#state.status === "conflict") return false;
    do await this.#send();
    while (this.#waiting.length > 0 && this.#state.status === "unsaved");
    return this.#waiting.length === 0;
  }

  async resolveConflict(keep: "mine" | "theirs"): Promise<void> {
    const theirs = await this.#deps.load();
    this.#waiting = keep === "mine" ? restateChanges(this.#waiting, this.#state.files, toFiles(theirs.files)) : [];
    this.replace(theirs);
    await this.#send();
  }

  async refresh(): Promise<void> {
    if (this.#waiting.length > 0 || this.#sending !== undefined) return;
    const { version, head, conflicts } = this.#state;
    const theirs = await this.#deps.load();
    // Meanwhile something may have been written here.
    const isQuiet = this.#waiting.length === 0 && this.#sending === undefined && this.#state.version === version;
    const isNew = theirs.version !== version || theirs.head !== head || !areSame(theirs.conflicts, conflicts);
    if (isQuiet && isNew) this.replace(theirs);
  }

  replace(stored: StoredDraft): void {
    const files = this.#waiting.reduce(applyChange, toFiles(stored.files));
    const hasMore = this.#waiting.length > 0;
    this.#set({ ...toState(stored), files, changed: stored.changed || hasMore, status: hasMore ? "unsaved" : "saved" });
  }

  setConflicts(conflicts: readonly DraftConflict[]): void {
    this.#tell({ conflicts });
  }

  #set(part: Partial<DraftState>): void {
    this.#tell({ ...part, unsaved: listTouched(this.#waiting) });
  }

  /** What is on its way is not saved yet, though it no longer waits. */
  #tell(part: Partial<DraftState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) listener();
  }

  #saveAfter(ms: number): void {
    this.#takeBack();
    this.#takeBack = this.#deps.after(ms, () => void this.#send());
  }

  /** One at a time: who asks meanwhile waits for the one that is under way. */
  #send(): Promise<void> {
    this.#takeBack();
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** What waits now. What comes while it is under way has its own time. */
  async #sendWaiting(): Promise<void> {
    let owed = this.#waiting.length;
    while (owed > 0 && this.#waiting.length > 0) {
      const batch = takeBatch(this.#waiting, REQUEST_CHARACTERS_MAX);
      owed -= batch.length;
      this.#waiting = this.#waiting.slice(batch.length);
      this.#tell({ status: "saving", message: "" });
      const answer = await this.#deps.save(this.#state.version, batch);
      if (answer.kind !== "saved") {
        this.#waiting = batch.concat(this.#waiting);
        return this.#stop(answer);
      }
      this.#failures = 0;
      const { version, updatedAt, problems, warnings, changed } = answer;
      const hasMore = this.#waiting.length > 0;
      const status = hasMore ? "unsaved" : "saved";
      this.#set({ version, updatedAt, problems, warnings, changed: hasMore || changed, status });
    }
    if (this.#waiting.length > 0) this.#saveAfter(QUIET_MS);
  }

  #stop(answer: Exclude<SaveAnswer, { kind: "saved" }>): void {
    if (answer.kind === "conflict") return this.#set({ status: "conflict", message: "" });
    this.#set({ status: answer.kind === "failed" ? "offline" : "refused", message: answer.message });
    if (answer.kind === "refused") return;
    this.#saveAfter(AGAIN_MS[Math.min(this.#failures, AGAIN_MS.length - 1)] as number);
    this.#failures += 1;
  }
}

function toState({ files, ...stored }: StoredDraft): DraftState {
  const { base, head, version, updatedAt, changed, problems, warnings, conflicts } = stored;
  const status = { status: "saved" as const, message: "", unsaved: [] };
  return { files: toFiles(files), base, head, version, updatedAt, changed, problems, warnings, conflicts, ...status };
}

function areSame(some: readonly DraftConflict[], others: readonly DraftConflict[]): boolean {
  const toText = (conflicts: readonly DraftConflict[]): string =>
    conflicts.map(({ path, commitId }) => `${commitId} ${path}`).join("\n");
  return toText(some) === toText(others);
}
