import { useSyncExternalStore } from "react";
import { connectionLost } from "./connection.ts";
import { AlertIcon } from "./icons.tsx";
import classes from "./shell.module.css";

/**
 * Shows that the service does not answer, until it does. The element is always in the page: screen readers announce
 * changes only in elements they know.
 */
export function ConnectionNotice() {
  const isLost = useSyncExternalStore(connectionLost.subscribe, connectionLost.get);
  return (
    <div role="status" aria-label="Connection">
      {isLost && (
        <p className={classes.lost}>
          <AlertIcon />
          <span>
            <b>The service does not answer.</b> What you see may be out of date. What you entered is still here. The
            page keeps retrying.
          </span>
        </p>
      )}
    </div>
  );
}
