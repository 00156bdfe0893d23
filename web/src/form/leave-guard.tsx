import { useBlocker } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense } from "react";
import { loadPart } from "../app/load-part.ts";

const LeaveDialog = lazy(() =>
  loadPart(() => import("./leave-dialog.tsx")).then((loaded) => ({ default: loaded.LeaveDialog })),
);

/** Asks before the page is left while files are on their way: that would end it. */
export function LeaveGuard({ isBusy }: { isBusy: RefObject<boolean> }) {
  const blocker = useBlocker({
    shouldBlockFn: () => isBusy.current,
    enableBeforeUnload: () => isBusy.current,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <Suspense>
      <LeaveDialog onStay={blocker.reset} onLeave={blocker.proceed} />
    </Suspense>
  );
}
