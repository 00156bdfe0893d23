import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { loadPart } from "./load-part.ts";

const HintText = lazy(() => loadPart(() => import("./hint-text.tsx")).then((loaded) => ({ default: loaded.HintText })));

const DELAY_MS = 300;

/**
 * Shows a text beside an element while a pointer is over it, or keys have led to it. What places the text is fetched then.
 * The text repeats a name, or adds to what is there: nothing depends on it.
 */
export function Hint({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const [target, setTarget] = useState<HTMLElement>();
  const [due, setDue] = useState<HTMLElement>();
  useEffect(() => {
    if (target === undefined) return;
    const timer = setTimeout(() => setDue(target), DELAY_MS);
    const close = ({ key }: KeyboardEvent) => key === "Escape" && setTarget(undefined);
    document.addEventListener("keydown", close);
    return () => {
      clearTimeout(timer);
      setDue(undefined);
      document.removeEventListener("keydown", close);
    };
  }, [target]);
  const open = (wrapper: HTMLElement): void =>
    setTarget((wrapper.firstElementChild as HTMLElement | null) ?? undefined);
  return (
    <span
      className="hinted"
      onPointerEnter={({ currentTarget, pointerType }) => pointerType !== "touch" && open(currentTarget)}
      onPointerLeave={() => setTarget(undefined)}
      onFocus={({ currentTarget, target: focused }) => focused.matches(":focus-visible") && open(currentTarget)}
      onBlur={() => setTarget(undefined)}
    >
      {children}
      {target !== undefined && due === target && (
        <Suspense>
          <HintText target={target} label={label} />
        </Suspense>
      )}
    </span>
  );
}
