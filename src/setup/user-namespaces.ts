import { readFile } from "node:fs/promises";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";

const PROBE_TIMEOUT_MS = 10_000;
/** The smallest sandbox that needs everything the real one does: all namespaces, its own /proc and /dev. */
const PROBE = [
  "--unshare-all",
  "--unshare-user",
  "--disable-userns",
  "--die-with-parent",
  "--ro-bind",
  "/",
  "/",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
  "--",
];

interface Facts {
  /** The first line of a file of the kernel, undefined where there is none. */
  readonly setting: (path: string) => Promise<string | undefined>;
  readonly said: string;
}

/** Each known cause: how it is recognised, and what a person can do. Returns the first that fits. */
const CAUSES: readonly { readonly applies: (facts: Facts) => Promise<boolean>; readonly advice: string }[] = [
  {
    applies: async ({ setting }) => (await setting("/proc/sys/kernel/unprivileged_userns_clone")) === "0",
    advice:
      "This kernel forbids user namespaces to ordinary users. Allow them: sysctl -w kernel.unprivileged_userns_clone=1",
  },
  {
    applies: async ({ setting }) => (await setting("/proc/sys/user/max_user_namespaces")) === "0",
    advice: "The number of user namespaces is limited to none. Raise it: sysctl -w user.max_user_namespaces=15000",
  },
  {
    applies: async ({ setting, said }) =>
      (await setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) === "1" &&
      /permission|permitted|uid map/i.test(said),
    advice:
      "AppArmor keeps ordinary programs from using user namespaces (Ubuntu 23.10 and later). Give bubblewrap a profile with the rule `userns,` in /etc/apparmor.d/bwrap, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  },
  {
    applies: async ({ said }) => /proc on .*newroot|mount proc/i.test(said),
    advice:
      "The container hides parts of /proc. Start it with --security-opt systempaths=unconfined (Podman: unmask=ALL).",
  },
  {
    applies: async ({ said }) => /make \/ slave|pivot_root|remount/i.test(said),
    advice:
      "The container's AppArmor profile forbids mounts. Start it with --security-opt apparmor=unconfined, or the profile that docker-compose.yml names.",
  },
  {
    applies: async ({ setting, said }) =>
      /namespace|permitted/i.test(said) &&
      ((await setting("/.dockerenv")) !== undefined || (await setting("/run/.containerenv")) !== undefined),
    advice:
      "The container's seccomp profile forbids namespaces. Start it with the security options that docker-compose.yml names.",
  },
];

/**
 * Whether this user can really make a sandbox: makes an empty one. Undefined when it works; otherwise what bubblewrap
 * said, the cause where it is a known one, and what to do.
 */
export async function probeUserNamespaces(deps: {
  readonly bwrapPath: string;
  readonly runAs: RunAs | undefined;
  readonly run: RunCommand;
  readonly readSetting?: (path: string) => Promise<string | undefined>;
}): Promise<string | undefined> {
  const { code, tail } = await deps.run(deps.bwrapPath, [...PROBE, "/usr/bin/env", "true"], {
    env: { PATH: "/usr/bin:/bin" },
    runAs: deps.runAs,
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  if (code === 0) return undefined;
  const said = tail.at(-1) ?? `it ended with code ${code}`;
  const facts = { setting: deps.readSetting ?? readFirstLine, said };
  for (const { applies, advice } of CAUSES) {
    if (await applies(facts)) return `bubblewrap cannot make a sandbox (${said}). ${advice}`;
  }
  return `bubblewrap cannot make a sandbox (${said}). Allow user namespaces on this machine (in a container: the security options that docker-compose.yml names).`;
}

async function readFirstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text?.split("\n")[0]?.trim();
}
