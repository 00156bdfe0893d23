import { Time } from "../app/time.tsx";
import classes from "./code-tab.module.css";
import type { DraftState } from "./draft-saving.ts";

const TONES = {
  saved: "idle",
  unsaved: "idle",
  saving: "idle",
  offline: "warning",
  conflict: "failure",
  refused: "failure",
};

/**
 * Whether what was written is with the service, in a few words; the reason on hover. Nothing that is said by itself: it changes with
 * every pause of who writes. What cannot be saved is said by the notice about it, and what was saved to who asked for that.
 */
export function SaveState({ state }: { state: DraftState }) {
  const { status, message } = state;
  return (
    <span className={classes.saveState} data-tone={TONES[status]} title={message === "" ? undefined : message}>
      <SaveWords state={state} />
    </span>
  );
}

function SaveWords({ state: { status, updatedAt, changed, base } }: { state: DraftState }) {
  switch (status) {
    case "unsaved":
      return "Not saved yet";
    case "saving":
      return "Saving…";
    case "offline":
      return "Not saved: no answer, trying again";
    case "conflict":
      return "Not saved: changed elsewhere";
    case "refused":
      return "Not saved: refused";
    case "saved":
      if (!changed) return base === null ? "Nothing committed yet" : "As committed";
      return updatedAt === null ? (
        "Draft saved"
      ) : (
        <>
          Draft saved <Time at={updatedAt} />
        </>
      );
  }
}
