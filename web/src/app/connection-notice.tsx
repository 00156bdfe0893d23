import { useSyncExternalStore } from "react";
import { connectionLost } from "./connection.ts";
import { AlertIcon } from "./icons.tsx";
import classes from "./shell.module.css";

/** Says that the service does not answer, for as long as it does not. Its place is always there, so that screen readers hear of it. */
export function ConnectionNotice() {
  const isLost = useSyncExternalStore(connectionLost.subscribe, connectionLost.get);
  return (
    <div role="status" aria-label="Connection">
      {isLost && (
        <p className={classes.lost}>
          <AlertIcon />
          <span>
            <b>The service does not answer.</b> What is shown may be old, what you have entered is still here. It is
            tried again and again.
          </span>
        </p>
      )}
    </div>
  );
}
