import { type ReactNode, Suspense, useEffect, useState } from "react";

/** After what people wait for. */
const LATER_MS = 300;

/** Shows what nobody waits for, once the page itself has been shown. */
export function Later({ children }: { children: ReactNode }) {
  const [isTime, setTime] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setTime(true), LATER_MS);
    return () => clearTimeout(timer);
  }, []);
  return isTime && <Suspense>{children}</Suspense>;
}
