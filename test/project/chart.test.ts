import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { loadSettings, SETTINGS } from "../../src/config.ts";
import {
  type Autoscaler,
  type Container,
  type Labels,
  type Service,
  validatorOf,
  type Workload,
} from "./chart-objects.ts";
import {
  CHART_BUILD_MS_MAX,
  fetchSchemas,
  type KubernetesObject,
  type Rendered,
  renderChart,
} from "./chart-programs.ts";
import { BAD_VALUES, GOOD_VALUES } from "./chart-values.ts";
import { environmentOf, parseDockerfile } from "./dockerfile.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const image = environmentOf(parseDockerfile(read("Dockerfile")).at(-1) ?? { from: "", as: "", instructions: [] });

let rendered: Record<string, Rendered>;
let schemas: string;

beforeAll(async () => {
  const refused = Object.fromEntries(Object.entries(BAD_VALUES).map(([name, [set]]) => [name, set]));
  rendered = await renderChart({ ...GOOD_VALUES, ...refused });
  schemas = await fetchSchemas();
}, CHART_BUILD_MS_MAX);

const objectsOf = (name: string): readonly KubernetesObject[] => {
  expect([name, rendered[name]?.error]).toEqual([name, undefined]);
  return rendered[name]?.objects ?? [];
};
const only = <Kind extends KubernetesObject>(name: string, ...kinds: string[]): Kind[] =>
  objectsOf(name).filter(({ kind }) => kinds.includes(kind)) as Kind[];
const workloads = (name: string): Workload[] => only<Workload>(name, "Deployment", "StatefulSet");
const allPods = (name: string): Workload[] => only<Workload>(name, "Deployment", "StatefulSet", "Job");
const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0] as Container;
const variablesOf = (workload: Workload): Record<string, string> =>
  Object.fromEntries(containerOf(workload).env.map(({ name, value }) => [name, value]));
const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([label, value]) => labels[label] === value);
const hasLabels =
  (selector: Labels) =>
  ({ spec }: Workload): boolean =>
    matches(selector, spec.template.metadata.labels);

describe.each(Object.keys(GOOD_VALUES))("the chart, for %s", (name) => {
  test("objects, each of them, are what Kubernetes' schema of their kind allows, and have names of their own", () => {
    const objects = objectsOf(name);
    expect(objects.length).toBeGreaterThanOrEqual(7);
    for (const object of objects) {
      const validate = validatorOf(schemas, object);
      validate(object);
      expect([object.kind, object.metadata.name, validate.errors ?? []]).toEqual([
        object.kind,
        object.metadata.name,
        [],
      ]);
    }
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test("variables, of every pod, are settings that src/config.ts takes, each given once", () => {
    for (const workload of allPods(name)) {
      const given = containerOf(workload).env.map((each) => each.name);
      expect(given.filter((each) => !Object.hasOwn(SETTINGS.shape, each))).toEqual([]);
      expect(new Set(given).size).toBe(given.length);
      const variables = variablesOf(workload);
      // The files are the cluster's; what is in them is not looked at here.
      const texts = Object.entries(variables).filter(([key]) => !key.endsWith("_FILE"));
      expect(() => loadSettings({ ...image, ...Object.fromEntries(texts) })).not.toThrow();
    }
    const roles = workloads(name).map((workload) => [workload.kind, variablesOf(workload)["TREADLE_ROLE"]]);
    expect(roles).toEqual(
      expect.arrayContaining([
        ["Deployment", "api"],
        ["StatefulSet", "worker"],
      ]),
    );
  });

  test("secrets, of every pod, are files of Secrets that are mounted for the pod's group alone", () => {
    for (const workload of allPods(name)) {
      const { volumeMounts } = containerOf(workload);
      const { volumes, securityContext } = workload.spec.template.spec;
      const files = Object.entries(variablesOf(workload)).filter(([, value]) => value.startsWith("/secrets/"));
      expect(files.map(([key]) => key)).toContain("DATABASE_URL_FILE");
      for (const [, path] of files) {
        const mount = volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
        const volume = volumes.find((each) => each.name === mount?.name);
        expect([path, mount?.readOnly, volume?.secret]).toEqual([
          path,
          true,
          { secretName: expect.any(String), defaultMode: 0o440 },
        ]);
      }
      expect(securityContext).toMatchObject({ runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001 });
    }
  });

  test("pods that make sandboxes have what bubblewrap needs, no capability, and no token", () => {
    const compose = parse(read("docker-compose.yml"), { merge: true }) as { services: { worker: { user: string } } };
    expect(compose.services.worker.user).toBe("10001:10001");
    for (const { spec } of workloads(name)) {
      const pod = spec.template.spec;
      expect(pod).toMatchObject({ hostUsers: false, shareProcessNamespace: true, automountServiceAccountToken: false });
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        fsGroupChangePolicy: "OnRootMismatch",
        seccompProfile: { type: "Localhost", localhostProfile: "treadle.json" },
      });
      expect(pod.containers.map(({ securityContext }) => securityContext)).toEqual([
        {
          allowPrivilegeEscalation: false,
          privileged: false,
          capabilities: { drop: ["ALL"] },
          procMount: "Unmasked",
        },
      ]);
    }
  });

  test("data, of every process, are below a volume of its own: a worker's outlives its pod", () => {
    for (const workload of workloads(name)) {
      const dataDir = variablesOf(workload)["TREADLE_DATA_DIR"] ?? "";
      const mount = containerOf(workload).volumeMounts.find(({ mountPath }) => dataDir.startsWith(`${mountPath}/`));
      const claims = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      expect([workload.kind, claims]).toEqual([workload.kind, workload.kind === "StatefulSet" ? [mount?.name] : []]);
    }
  });

  test("pods that are asked to stop have the time that their settings promise", () => {
    for (const workload of workloads(name)) {
      const texts = Object.entries(variablesOf(workload)).filter(([key]) => !key.endsWith("_FILE"));
      const settings = loadSettings({ ...image, ...Object.fromEntries(texts) });
      const seconds = settings.TREADLE_STOP_DELAY_SECONDS + settings.TREADLE_DRAIN_SECONDS + 10;
      expect(workload.spec.template.spec.terminationGracePeriodSeconds).toBe(seconds);
    }
  });

  test("probes ask for routes on ports that the pod has, and a proxy in front means plain HTTP", () => {
    for (const workload of workloads(name)) {
      const { ports = [], startupProbe, readinessProbe, livenessProbe } = containerOf(workload);
      const variables = variablesOf(workload);
      const isApi = variables["TREADLE_ROLE"] === "api";
      const numbers = Object.fromEntries(ports.map((port) => [port.name, String(port.containerPort)]));
      expect(numbers["metrics"]).toBe(variables["TREADLE_METRICS_PORT"]);
      expect(numbers["callers"]).toBe(variables["TREADLE_PORT"]);
      for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe]) {
        expect(["/healthz", "/readyz"]).toContain(httpGet.path);
        expect(Object.keys(numbers)).toContain(httpGet.port);
      }
      const { httpGet } = readinessProbe;
      const plain = variables["TREADLE_TRUST_PROXY"] === "true";
      expect(httpGet).toMatchObject(
        isApi
          ? { path: "/healthz", port: "callers", scheme: plain ? "HTTP" : "HTTPS" }
          : { path: "/readyz", port: "metrics" },
      );
    }
  });

  test("selectors, of services, budgets and workloads, find the pods they are for and no others", () => {
    const pods = allPods(name);
    for (const workload of workloads(name))
      expect(pods.filter(hasLabels(workload.spec.selector.matchLabels))).toEqual([workload]);
    const budgets = only<Workload>(name, "PodDisruptionBudget");
    const guarded = budgets.flatMap(({ spec }) => pods.filter(hasLabels(spec.selector.matchLabels)));
    expect(new Set(guarded)).toEqual(new Set(workloads(name)));
    expect(guarded.length).toBe(budgets.length);
    const services = only<Service>(name, "Service");
    const served = services.map(({ metadata, spec }) => [
      metadata.name,
      workloads(name).filter(hasLabels(spec.selector)).length,
      spec.ports.map(({ targetPort }) => targetPort).join(),
    ]);
    expect(served.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
      ["treadle", 1, "callers"],
      ["treadle-metrics", workloads(name).length, "metrics"],
    ]);
    for (const { spec } of workloads(name))
      if (spec.serviceName !== undefined) expect(spec.serviceName).toBe("treadle-metrics");
  });

  test("migrations, before anything of a release, are the command that does them and ends", () => {
    const [job] = only<Workload>(name, "Job");
    expect(job?.metadata.annotations?.["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    expect(job === undefined ? undefined : containerOf(job).command).toEqual(["node", "bin/treadle", "migrate"]);
  });
});

test("autoscaling, of two classes, asks for figures that the service tells, and leaves the number of pods to it", () => {
  const name = "an Ingress in front, and workers by the queue";
  const scalers = only<Autoscaler>(name, "HorizontalPodAutoscaler");
  const scaled = workloads(name).filter(({ kind }) => kind === "StatefulSet");
  expect(scalers.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(scaled.map(({ metadata }) => metadata.name));
  expect(scaled.map(({ spec }) => spec.replicas)).toEqual([undefined, undefined]);
  const asked = scalers.map(({ spec }) => spec.metrics.map((metric) => metric["pods"] ?? metric["external"]));
  expect(asked.map((each) => each.map((one) => [one?.metric.name, one?.target]))).toEqual([
    [
      ["treadle_programs_running", { type: "AverageValue", averageValue: "3000m" }],
      ["treadle_open_executions", { type: "AverageValue", averageValue: "4" }],
    ],
    [["treadle_programs_running", { type: "AverageValue", averageValue: "3000m" }]],
  ]);
  // The table of figures, which a test keeps to what the service tells.
  const told = read("docs/operating.md");
  for (const metric of asked.flat().map((each) => each?.metric)) {
    const row = told.split("\n").find((line) => line.startsWith("| ") && line.includes(`\`${metric?.name}\``)) ?? "";
    expect([metric?.name, row === ""]).toEqual([metric?.name, false]);
    for (const [label, value] of Object.entries(metric?.selector?.matchLabels ?? {})) {
      expect(row).toContain(`\`${label}\``);
      expect(row).toContain(`\`${value}\``);
    }
  }
});

test("classes of workers have a set of pods each, with what they say and the rest of the defaults", () => {
  const [general, large] = workloads("two classes of workers").filter(({ kind }) => kind === "StatefulSet");
  expect([general?.spec.replicas, large?.spec.replicas]).toEqual([2, 1]);
  expect(variablesOf(large as Workload)).toMatchObject({ TREADLE_SANDBOX_SLOTS: "2", TREADLE_NETWORK_SLOTS: "0" });
  expect(variablesOf(general as Workload)).toMatchObject({ TREADLE_SANDBOX_SLOTS: "4", TREADLE_DRAIN_SECONDS: "60" });
  expect(large?.spec.template.spec).toMatchObject({
    nodeSelector: { size: "large" },
    containers: [{ resources: { requests: { cpu: "2" }, limits: { memory: "64Gi", "example.com/tun": "1" } } }],
  });
});

test("an Ingress, in front of the port that believes it, is the only way to that port", () => {
  const name = "an Ingress in front, and workers by the queue";
  const [policy] = only<KubernetesObject & { spec: { podSelector: { matchLabels: Labels }; ingress: object[] } }>(
    name,
    "NetworkPolicy",
  );
  expect(policy?.spec.ingress).toEqual([
    { from: [expect.objectContaining({ namespaceSelector: expect.anything() })], ports: [{ port: "callers" }] },
    { ports: [{ port: "metrics" }] },
  ]);
  const [api] = allPods(name).filter(hasLabels(policy?.spec.podSelector.matchLabels ?? { none: "" }));
  expect(api?.kind).toBe("Deployment");
  expect(variablesOf(api as Workload)["TREADLE_TRUST_PROXY"]).toBe("true");
});

test.each(Object.entries(BAD_VALUES))("values with %s are refused, with what is wrong", (name, [, message]) => {
  expect(rendered[name]?.error).toMatch(message);
});

test("the chart's versions are that of package.json", () => {
  const { version, appVersion } = parse(read("deploy/helm/treadle/Chart.yaml")) as Record<string, string>;
  const ours = (JSON.parse(read("package.json")) as { version: string }).version;
  expect([version, appVersion]).toEqual([ours, ours]);
});
