import { stat, statfs } from "node:fs/promises";
import { messageOf } from "../../domain/message-of.ts";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import type { Settings } from "../config.ts";
import { limitsCheck, outputsCheck } from "../metrics/readiness.ts";
import { findPython } from "../setup/python.ts";
import { findRunDiskProblem } from "../setup/run-disks.ts";
import { findRuntime } from "../setup/runsc.ts";
import { findSelf } from "../setup/sandbox-ids.ts";
import { prepareSandboxUsers } from "../setup/sandbox-users.ts";
import { type RunCommand, runCommand } from "../setup/servers/command.ts";
import { prepareTools } from "../setup/tools.ts";
import { findOnlooker, findServiceUser } from "../setup/user.ts";
import { probeUserNamespaces } from "../setup/user-namespaces.ts";
import { budgetDescriptors, readDescriptorLimit } from "./descriptors.ts";

/** One thing of the machine: `message` says what was found and, when it is not good, what to do. */
export interface MachineCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

/** Looks at what the service needs of this machine, as the user that programs would run as. Changes and installs nothing. */
export async function inspectMachine(deps: {
  env: Readonly<Record<string, string | undefined>>;
  settings: Settings;
  dataDir: string;
  run?: RunCommand;
}): Promise<MachineCheck[]> {
  const { settings, dataDir } = deps;
  const common = { env: deps.env, ...(await findOnlooker(deps.run ?? runCommand)) };
  return [
    { name: "node", ok: true, message: process.versions.node },
    await findPython(common).then(
      (python) => ({ name: "python", ok: true, message: `${python.version} (${python.path})` }),
      (error: Error) => ({ name: "python", ok: false, message: error.message }),
    ),
    ...(settings.TREADLE_ISOLATION === "none" ? [isolationOff] : await inspectSandboxing(common)),
    ...(settings.TREADLE_SANDBOX_RUNTIME === "bubblewrap" ? [] : [await inspectGvisor(settings, common)]),
    { name: "limits", ...limitsCheck(findCgroupFolders()) },
    ...(settings.TREADLE_ISOLATION === "none" ? [] : [await inspectUsers(common, dataDir), await inspectRunDisks()]),
    await inspectDataDir(dataDir),
    await inspectDescriptors(settings),
  ];
}

/** Of this process: that of a service has what its starter gives it. */
async function inspectDescriptors(settings: Settings): Promise<MachineCheck> {
  try {
    const { ok, message } = budgetDescriptors(settings, await readDescriptorLimit());
    return { name: "open files", ok, message };
  } catch (error) {
    return { name: "open files", ok: false, message: messageOf(error) };
  }
}

const isolationOff: MachineCheck = {
  name: "isolation",
  ok: true,
  message: "off (TREADLE_ISOLATION=none): run your own code only",
};

async function inspectSandboxing(common: Parameters<typeof prepareTools>[0]): Promise<MachineCheck[]> {
  const { found, problems } = await prepareTools(common);
  const tool = found.bwrap;
  if (tool === undefined) return [{ name: "bubblewrap", ok: false, message: problems.join(" ") }];
  const refusal = await probeUserNamespaces({ bwrapPath: tool.path, runAs: common.runAs, run: common.run });
  return [
    { name: "bubblewrap", ok: true, message: `${tool.version} (${tool.path})` },
    {
      name: "isolation",
      ok: refusal === undefined,
      message: refusal ?? `a sandbox can be made${common.runAs === undefined ? "" : ` by user ${common.runAs.uid}`}`,
    },
  ];
}

/** Whether there is a `runsc`. Whether a sandbox of it works is seen when a service starts. */
async function inspectGvisor(settings: Settings, common: Parameters<typeof prepareTools>[0]): Promise<MachineCheck> {
  const found = await findRuntime({ settings, ...common });
  if (found.kind !== "gvisor")
    return { name: "gvisor", ok: false, message: found.kind === "missing" ? found.problem : "not asked for" };
  const { version, runscPath } = found;
  const message = `runsc ${version} (${runscPath}): every program starts cold in gVisor; no lanes, no network`;
  return { name: "gvisor", ok: true, message };
}

/** Whose kernel users the sandboxes of a service started by this user would be. */
async function inspectUsers(common: Parameters<typeof prepareTools>[0], dataDir: string): Promise<MachineCheck> {
  const [{ found }, python] = await Promise.all([prepareTools(common), findPython(common).catch(() => undefined)]);
  if (found.bwrap === undefined || python === undefined) return { name: "users", ok: true, message: "not tried" };
  const owner = common.isRoot ? await findServiceUser(common.run) : findSelf();
  if (owner === undefined) return { name: "users", ok: true, message: "not tried: there is no unprivileged user yet" };
  const { users, message } = await prepareSandboxUsers({
    ...common,
    owner,
    dataDir,
    passed: [],
    python: python.path,
    bwrapPath: found.bwrap.path,
  });
  await users?.close();
  return { name: "users", ok: true, message };
}

/** Which rung of the ladder a service started by this user would stand on. */
async function inspectRunDisks(): Promise<MachineCheck> {
  return { name: "outputs", ...outputsCheck(await findRunDiskProblem()) };
}

async function inspectDataDir(dataDir: string): Promise<MachineCheck> {
  const there = await stat(dataDir).catch(() => undefined);
  if (there === undefined) return { name: "data", ok: true, message: `${dataDir} is made at the first start` };
  const { bavail, bsize } = await statfs(dataDir);
  return { name: "data", ok: true, message: `${dataDir}, ${((bavail * bsize) / 1e9).toFixed(1)} GB free` };
}
