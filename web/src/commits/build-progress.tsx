import { Alert, Button, Loader } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { AlertIcon } from "../app/icons.tsx";
import { useNow } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { useFollowing } from "../execution/log-following.ts";
import classes from "./build-progress.module.css";
import type { Publishing } from "./publishing.ts";

/** How far a new commit is: what its build says, and what went wrong with it. Nothing before it begins. */
export function BuildProgress({ state }: { state: Publishing }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (state.kind !== "idle") place.current?.scrollIntoView({ block: "nearest" });
  }, [state.kind]);
  if (state.kind === "building") {
    return (
      <section ref={place} className={classes.progress} aria-label="Build">
        <p className={classes.head} role="status">
          <Loader size={14} aria-hidden="true" />
          <span>{state.log === "" ? "Checking the files" : "Building the packages"}</span>
          <Elapsed />
        </p>
        {state.log !== "" && <BuildLog log={state.log} />}
      </section>
    );
  }
  if (state.kind !== "failed") return null;
  return (
    <section ref={place} className={classes.progress} aria-label="Build">
      <Alert color="red" variant="light" icon={<AlertIcon />} role="alert" p="xs">
        {state.message}
      </Alert>
      {state.log !== "" && <BuildLog log={state.log} />}
    </section>
  );
}

function Elapsed() {
  const [begun] = useState(() => Date.now());
  const now = useNow(1_000);
  const seconds = Math.max(0, Math.round((now.getTime() - begun) / 1_000));
  return <span className={classes.elapsed}>{seconds > 0 && toDuration(seconds)}</span>;
}

/** What the tools said: at its end while it grows, unless its reader has scrolled back. */
export function BuildLog({ log }: { log: string }) {
  const place = useRef<HTMLPreElement>(null);
  const following = useFollowing(place, log.length, () => {
    if (place.current !== null) place.current.scrollTop = place.current.scrollHeight;
  });
  return (
    <div className={classes.logFrame}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <pre
        ref={place}
        className={classes.log}
        // It can be scrolled with the keyboard, too.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label="What the build said"
        onScroll={following.look}
        onKeyDown={following.turnBack}
        onWheel={following.turnBack}
      >
        {log}
      </pre>
      {!following.on && (
        <Button variant="default" className={classes.toEnd} onClick={following.resume}>
          To the end
        </Button>
      )}
    </div>
  );
}
