import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { loadSettings, SETTINGS } from "../../src/config.ts";
import { serverArguments } from "../../src/setup/servers/temporal-server.ts";
import { parseStorageUrl } from "../../storage/open.ts";
import { environmentOf, parseDockerfile, VARIABLES_OF_LIBRARIES } from "./dockerfile.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface Service {
  readonly image?: string;
  readonly build?: unknown;
  readonly user?: string;
  readonly privileged?: boolean;
  readonly cap_add?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly pid?: string;
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(read("docker-compose.yml"), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const stages = parseDockerfile(read("Dockerfile"));
const [last] = stages.slice(-1);
if (last === undefined) throw new Error("The Dockerfile has no stage.");
const ours = services.filter(([, service]) => service.build !== undefined);

describe("docker-compose.yml", () => {
  test("services, all together, are the parts that design and documentation name", () => {
    const names = [
      "api",
      "grafana",
      "objects",
      "objects-bucket",
      "postgres",
      "prometheus",
      "temporal",
      "temporal-schema",
      "temporal-ui",
      "worker",
    ];
    expect(services.map(([name]) => name).sort()).toEqual(names);
    expect(ours.map(([name]) => name).sort()).toEqual(["api", "worker"]);
  });

  test.each(services)("%s, from wherever it comes, has an image of one exact version", (_, { image = "" }) => {
    expect(image).toMatch(/^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$/);
    expect(image).not.toMatch(/auto-setup|latest/);
  });

  test.each(services)("%s, whatever it does, has no privilege of the host", (_, service) => {
    expect(service.privileged ?? false).toBe(false);
    expect(service.cap_add ?? []).toEqual([]);
    expect([service.network_mode, service.pid]).toEqual([undefined, undefined]);
    expect(service.security_opt).toContain("no-new-privileges:true");
    expect((service.volumes ?? []).filter((volume) => /docker\.sock|^\/[a-z]*:/.test(volume))).toEqual([]);
  });

  test.each(services)("%s, when it publishes a port, does so on this machine only", (_, { ports = [] }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+(-\d+)?:\d+$/);
  });

  test("postgres, temporal and objects, which trust who reaches them, are on the network that has no way out", () => {
    expect(compose.networks.backend).toEqual({ internal: true });
    for (const name of ["postgres", "temporal", "objects"]) {
      expect([name, compose.services[name]?.networks, compose.services[name]?.ports]).toEqual([
        name,
        ["backend"],
        undefined,
      ]);
    }
  });

  test.each(ours)(
    "%s, which makes sandboxes, has the options for it, an ordinary user, and no capability",
    (_, service) => {
      expect(service.security_opt).toEqual([
        "no-new-privileges:true",
        "seccomp=./deploy/seccomp.json",
        expect.stringMatching(/^apparmor=/),
        "systempaths=unconfined",
      ]);
      expect(service.cap_drop).toEqual(["ALL"]);
      expect(service.user).toBe(last.instructions.filter(({ name }) => name === "USER").at(-1)?.text);
      expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    },
  );

  test.each(ours)("%s, given its variables, is understood by src/config.ts", (name, { environment = {} }) => {
    const known = [...Object.keys(SETTINGS.shape), ...VARIABLES_OF_LIBRARIES];
    expect(Object.keys(environment).filter((variable) => !known.includes(variable))).toEqual([]);
    const settings = loadSettings({ ...environmentOf(last), ...environment });
    expect(settings).toMatchObject({ TREADLE_ROLE: name, TREADLE_HOST: "0.0.0.0", TREADLE_DATA_DIR: "/data" });
    expect(parseStorageUrl(settings.TREADLE_STORAGE_URL ?? "")).toMatchObject({
      bucket: "treadle",
      endpoint: "http://objects:7070",
    });
  });

  test.each(ours)(
    "%s, asked to stop, has the time for it that its settings promise",
    (_, { environment = {}, ...service }) => {
      const settings = loadSettings({ ...environmentOf(last), ...environment });
      const seconds = settings.TREADLE_STOP_DELAY_SECONDS + settings.TREADLE_DRAIN_SECONDS + 10;
      expect(Number.parseInt(service.stop_grace_period ?? "10s", 10)).toBeGreaterThanOrEqual(seconds);
    },
  );

  test.each(ours)(
    "%s, started several times, shares no folder but the keys, and no port",
    (_, { ports = [], volumes = [] }) => {
      expect(volumes).toEqual(["/data", "keys:/keys"]);
      for (const port of ports) expect(port).toMatch(/:\d+-\d+:/);
    },
  );

  test("secrets, of all services, come from outside the file, and starting without them is refused", () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|SECRET|DATABASE_URL/.test(name)),
    );
    expect(secrets.length).toBeGreaterThanOrEqual(8);
    for (const [name, value] of secrets)
      expect([name, value]).toEqual([name, expect.stringMatching(/\$\{[A-Z_]+:\?[^}]+\}/)]);
  });

  test("names, of what services use, are those of services, networks, volumes and files that exist", () => {
    for (const [name, service] of services) {
      for (const other of Object.keys(service.depends_on ?? {}))
        expect([name, Object.hasOwn(compose.services, other)]).toEqual([name, true]);
      for (const network of service.networks ?? [])
        expect([name, Object.hasOwn(compose.networks, network)]).toEqual([name, true]);
      for (const [source = ""] of (service.volumes ?? []).map((volume) => volume.split(":"))) {
        const exists =
          source.startsWith("/") ||
          (source.startsWith(".") ? existsSync(join(CHECKOUT, source)) : Object.hasOwn(compose.volumes, source));
        expect([name, source, exists]).toEqual([name, source, true]);
      }
    }
  });

  test("waiting, of a service for another's health, is for one that has a health check", () => {
    const imageChecks = last.instructions.some(({ name }) => name === "HEALTHCHECK");
    for (const [, { depends_on = {} }] of services) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const awaited = compose.services[other];
        const checks =
          awaited?.healthcheck?.test !== undefined ||
          (awaited?.build !== undefined && imageChecks && !awaited.healthcheck?.disable);
        if (condition === "service_healthy") expect([other, checks]).toEqual([other, true]);
      }
    }
  });
});

describe("the files of deploy", () => {
  test("Temporal's dynamic configuration, in the container, says what the embedded server is told", () => {
    const flags = serverArguments({ databaseFile: "x", namespace: "treadle", ports: { grpc: 1, ui: 2 } });
    const told = flags.flatMap((flag, index) => (flags[index - 1] === "--dynamic-config-value" ? [flag] : []));
    const written = parse(read("deploy/temporal/dynamic-config.yaml")) as Record<string, { value: unknown }[]>;
    const said = Object.entries(written).map(([key, [first]]) => `${key}=${JSON.stringify(first?.value)}`);
    expect(said.filter((line) => !told.includes(line))).toEqual([]);
    for (const key of ["system.enableActivityEagerExecution", "history.transferProcessorMaxPollRPS"])
      expect(Object.keys(written)).toContain(key);
  });

  test.each(["deploy/postgres/databases.sh", "deploy/temporal/schema.sh"])(
    "%s, read by sh, has no error of syntax",
    (path) => {
      execFileSync("sh", ["-n", join(CHECKOUT, path)]);
      expect(statSync(join(CHECKOUT, path)).mode & 0o111).toBe(0o111);
    },
  );

  test("the seccomp profile, of the containers, refuses by default and allows what bubblewrap needs and nothing dangerous", () => {
    interface Rule {
      readonly names: readonly string[];
      readonly action: string;
      readonly errnoRet?: number;
    }
    const profile = JSON.parse(read("deploy/seccomp.json")) as { defaultAction: string; syscalls: readonly Rule[] };
    const allowed = profile.syscalls.filter(({ action }) => action === "SCMP_ACT_ALLOW").flatMap(({ names }) => names);
    expect(profile.defaultAction).toBe("SCMP_ACT_ERRNO");
    for (const needed of ["clone", "unshare", "setns", "mount", "umount2", "pivot_root", "sethostname", "seccomp"])
      expect(allowed).toContain(needed);
    const dangerous =
      /^(bpf|ptrace|process_vm_.*|perf_event_open|userfaultfd|io_uring_.*|(add_|request_)?key(ctl)?|kexec.*|.*_module|open_by_handle_at|reboot|swapo.*|iopl|ioperm|acct|quotactl|syslog|(clock_)?settime.*|move_mount|fsopen|open_tree|clone3)$/;
    expect(allowed.filter((name) => dangerous.test(name))).toEqual([]);
    // ENOSYS, not EPERM: only then does the C library fall back to clone.
    expect(profile.syscalls.find(({ names }) => names.includes("clone3"))).toMatchObject({
      action: "SCMP_ACT_ERRNO",
      errnoRet: 38,
    });
  });

  test("the AppArmor profile, of the containers, has the name that docker-compose.yml tells to use, and closes the kernel's switches", () => {
    const profile = read("deploy/apparmor-treadle");
    expect(profile).toMatch(/^profile treadle /m);
    for (const denied of ["/sys/**", "sysrq-trigger", "kcore"])
      expect(profile).toContain(`deny @{PROC}/${denied}`.replace("//", "/"));
  });
});

test(".env.example, where it lists variables, lists exactly those of src/config.ts in their order", () => {
  const listed = [...readIfThere(".env.example").matchAll(/^#?\s?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  expect(listed).toEqual(existsSync(join(CHECKOUT, ".env.example")) ? Object.keys(SETTINGS.shape) : []);
});

function read(path: string): string {
  return readFileSync(join(CHECKOUT, path), "utf8");
}

function readIfThere(path: string): string {
  return existsSync(join(CHECKOUT, path)) ? read(path) : "";
}
