import { UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useRouter } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Announcer } from "./announcer.tsx";
import { BarButtons } from "./bar-buttons.tsx";
import { openQuestion } from "./confirm.ts";
import { ConnectionNotice } from "./connection-notice.tsx";
import { SearchIcon } from "./icons.tsx";
import { useLiveUpdates } from "./live.ts";
import { loadPart } from "./load-part.ts";
import { Mark } from "./mark.tsx";
import classes from "./shell.module.css";

const CommandPalette = lazy(() =>
  loadPart(() => import("./palette.tsx")).then((loaded) => ({ default: loaded.CommandPalette })),
);

const ConfirmDialog = lazy(() =>
  loadPart(() => import("./confirm-dialog.tsx")).then((loaded) => ({ default: loaded.ConfirmDialog })),
);

const KeysDialog = lazy(() =>
  loadPart(() => import("./keys-dialog.tsx")).then((loaded) => ({ default: loaded.KeysDialog })),
);

/** Surrounds every page of a signed-in user: the bar on top, and the page. */
export function Shell() {
  useLiveUpdates();
  const [searching, setSearching] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  const showKeys = useCallback(() => setShowsKeys(true), []);
  const question = useSyncExternalStore(openQuestion.subscribe, openQuestion.get);
  const main = useRef<HTMLElement>(null);
  useFocusOnPage(main);
  // Also while a text field has the focus.
  useHotkeys([["mod+K", () => setSearching((open) => !open)]], [], true);
  // Not in a text field or in the code, where it is a character.
  useHotkeys([["shift+?", showKeys]]);
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to the page
      </a>
      <header className={classes.bar}>
        <Link to="/" className={classes.brand} aria-label="Treadle, workflows">
          <Mark />
          <span className={classes.brandName}>Treadle</span>
        </Link>
        <nav className={classes.nav} aria-label="Main">
          <Link to="/" activeOptions={{ exact: true }} className={classes.link}>
            Workflows
          </Link>
          <Link to="/executions" className={classes.link}>
            Runs
          </Link>
          <Link to="/account" className={classes.link}>
            Account
          </Link>
        </nav>
        <div className={classes.grow} />
        <UnstyledButton className={classes.search} onClick={() => setSearching(true)}>
          <SearchIcon />
          <span className={classes.searchWords}>Search</span>
          <kbd className={classes.searchKeys}>Ctrl K</kbd>
        </UnstyledButton>
        <BarButtons onKeys={showKeys} />
      </header>
      <ConnectionNotice />
      <main ref={main} id="main" tabIndex={-1} className={classes.main}>
        <Outlet />
      </main>
      {searching && (
        <Suspense>
          <CommandPalette onClose={() => setSearching(false)} />
        </Suspense>
      )}
      {showsKeys && (
        <Suspense>
          <KeysDialog onClose={() => setShowsKeys(false)} />
        </Suspense>
      )}
      {question !== undefined && (
        <Suspense>
          <ConfirmDialog question={question} onClose={openQuestion.close} />
        </Suspense>
      )}
      <Announcer />
    </>
  );
}

/** A page that takes another's place takes the focus of what went with that one: keys begin there, and not at the top again. */
function useFocusOnPage(main: RefObject<HTMLElement | null>): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
        const isFree = document.activeElement === null || document.activeElement === document.body;
        if (pathChanged && fromLocation !== undefined && isFree) main.current?.focus({ preventScroll: true });
      }),
    [router, main],
  );
}
