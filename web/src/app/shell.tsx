import { ActionIcon, Menu, Text, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useRouter } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Announcer } from "./announcer.tsx";
import { openQuestion } from "./confirm.ts";
import { ConnectionNotice } from "./connection-notice.tsx";
import { MoonIcon, ScreenIcon, SearchIcon, SunIcon, UserIcon } from "./icons.tsx";
import { useLiveUpdates } from "./live.ts";
import { loadPart } from "./load-part.ts";
import { Mark } from "./mark.tsx";
import { signOut, useSession } from "./session.ts";
import classes from "./shell.module.css";

const CommandPalette = lazy(() =>
  loadPart(() => import("./palette.tsx")).then((loaded) => ({ default: loaded.CommandPalette })),
);

const ConfirmDialog = lazy(() =>
  loadPart(() => import("./confirm-dialog.tsx")).then((loaded) => ({ default: loaded.ConfirmDialog })),
);

/** Surrounds every page of a signed-in user: the bar on top, and the page. */
export function Shell() {
  useLiveUpdates();
  const [searching, setSearching] = useState(false);
  const question = useSyncExternalStore(openQuestion.subscribe, openQuestion.get);
  const main = useRef<HTMLElement>(null);
  useFocusOnPage(main);
  // Also while a text field has the focus.
  useHotkeys([["mod+K", () => setSearching((open) => !open)]], [], true);
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
        <ColourMenu />
        <UserMenu />
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

function ColourMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const choices = [
    { value: "light", label: "Light", icon: <SunIcon /> },
    { value: "dark", label: "Dark", icon: <MoonIcon /> },
    { value: "auto", label: "As the system", icon: <ScreenIcon /> },
  ] as const;
  const current = choices.find(({ value }) => value === colorScheme) ?? choices[2];
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon size={30} aria-label={`Colours: ${current.label}`}>
          {current.icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {choices.map(({ value, label, icon }) => (
          <Menu.Item
            key={value}
            leftSection={icon}
            aria-current={value === colorScheme}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function UserMenu() {
  const session = useSession();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon size={30} aria-label={`Signed in as ${session.email}`}>
          <UserIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" c="var(--mantine-color-text)">
            {session.email}
          </Text>
          <Text size="xs">
            {session.role} of {session.accountName}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item component={Link} to="/account/security">
          Password and sessions
        </Menu.Item>
        <Menu.Item component="a" href="/docs/" target="_blank" rel="noreferrer">
          Documentation
        </Menu.Item>
        <Menu.Item component="a" href="/api/docs" target="_blank" rel="noreferrer">
          API documentation
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
