import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { readAlerts, readDashboard, readDeployed } from "../support/observability.ts";
import { listGroupings, listSelectors } from "../support/promql.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const dashboard = readDashboard();
const alerts = readAlerts();
const compose = parse(readFileSync(join(CHECKOUT, "docker-compose.yml"), "utf8"), { merge: true }) as {
  services: Record<
    string,
    {
      profiles?: string[];
      volumes?: string[];
      command?: string[];
      environment?: Record<string, string>;
      ports?: string[];
    }
  >;
};

/** The file of the checkout that a path in a container of docker-compose.yml is. */
function behind(service: string, path: string): string {
  const mounts = (compose.services[service]?.volumes ?? []).map((volume) => volume.split(":"));
  const mount = mounts.find(([, target = ""]) => path === target || path.startsWith(`${target}/`));
  const [source = "nowhere", target = ""] = mount ?? [];
  return join(CHECKOUT, source, path.slice(target.length));
}

test("the dashboard, as JSON, has panels of unique ids that do not overlap, each asking the data source that is chosen", () => {
  const { panels } = dashboard;
  expect(panels.length).toBeGreaterThan(20);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  for (const { title, type, datasource, targets = [] } of panels.filter((panel) => panel.type !== "row")) {
    expect([title, type]).toEqual([title, expect.stringMatching(/^(stat|timeseries)$/)]);
    const sources = [datasource, ...targets.map((target) => target.datasource)].map((source) => source?.uid);
    expect([title, new Set(sources)]).toEqual([title, new Set(["${datasource}"])]);
    expect([title, targets.length > 0]).toEqual([title, true]);
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
  }
  expect(dashboard.templating.list.map(({ name, type }) => [name, type])).toEqual([
    ["datasource", "datasource"],
    ["instance", "query"],
  ]);
});

test("the shipped files, of Grafana and Prometheus, name no host but those of docker-compose.yml", () => {
  const files = readdirSync(join(CHECKOUT, "deploy"), { recursive: true, encoding: "utf8" }).filter((path) =>
    /^(grafana|prometheus)\/.*\.(json|yaml)$/.test(path),
  );
  expect(files.map((path) => basename(path)).sort()).toEqual([
    "alerts.yaml",
    "prometheus.yaml",
    "prometheus.yaml",
    "treadle.json",
    "treadle.yaml",
  ]);
  const addresses = files.flatMap((path) =>
    [...readDeployed(path).matchAll(/https?:\/\/([^/:"\s]+)/g)].map(([, host]) => host),
  );
  expect([...new Set(addresses)]).toEqual(["prometheus"]);
  const scraped = parse(readDeployed("prometheus/prometheus.yaml")) as {
    scrape_configs: { job_name: string; dns_sd_configs: { names: string[] }[] }[];
  };
  const names = scraped.scrape_configs.flatMap(({ dns_sd_configs }) => dns_sd_configs.flatMap((each) => each.names));
  for (const name of [...names, "prometheus"])
    expect([name, Object.hasOwn(compose.services, name)]).toEqual([name, true]);
});

test("the profile of docker-compose.yml, for what it mounts, has the places that the configurations name", () => {
  const prometheus = /--config\.file=(\S+)/.exec(compose.services["prometheus"]?.command?.join(" ") ?? "")?.[1] ?? "";
  expect(existsSync(behind("prometheus", prometheus))).toBe(true);
  const { rule_files } = parse(readDeployed("prometheus/prometheus.yaml")) as { rule_files: string[] };
  for (const file of rule_files) expect(existsSync(behind("prometheus", join(dirname(prometheus), file)))).toBe(true);
  const home = compose.services["grafana"]?.environment?.["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] ?? "";
  expect(existsSync(behind("grafana", home))).toBe(true);
  const { providers } = parse(readDeployed("grafana/provisioning/dashboards/treadle.yaml")) as {
    providers: { options: { path: string } }[];
  };
  expect(readdirSync(behind("grafana", providers[0]?.options.path ?? ""))).toEqual(["treadle.json"]);
  expect(existsSync(behind("grafana", "/etc/grafana/provisioning/datasources/prometheus.yaml"))).toBe(true);
});

test("what observes, in docker-compose.yml, starts only when it is asked for, and nothing else needs it", () => {
  const optional = Object.entries(compose.services).filter(([, { profiles }]) => profiles !== undefined);
  expect(optional.map(([name, { profiles }]) => [name, profiles])).toEqual([
    ["prometheus", ["observability"]],
    ["grafana", ["observability"]],
  ]);
  expect(compose.services["prometheus"]?.ports).toBeUndefined();
});

test("alerts, each of them, have a name of their own, a severity, words that say what it is, and are explained in the documentation", () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  const explained = readFileSync(join(CHECKOUT, "docs/operating.md"), "utf8");
  for (const { alert, labels, annotations } of alerts) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(warning|critical)$/)]);
    expect([alert, annotations.summary.length > 10, annotations.description.length > 10]).toEqual([alert, true, true]);
    expect([alert, explained.includes(`\`${alert}\``)]).toEqual([alert, true]);
  }
  // What somebody must hear of, whatever else there is.
  const watched = new Set(alerts.flatMap(({ expr }) => listSelectors(expr).map(({ name }) => name)));
  for (const name of [
    "up",
    "treadle_repairs_total",
    "treadle_ledger_drift_accounts",
    "treadle_data_free_bytes",
    "treadle_oldest_execution_seconds",
    "treadle_http_request_seconds_count",
  ])
    expect([name, watched.has(name)]).toEqual([name, true]);
});

test("the reader of expressions, given one, finds its metrics, what they demand, and what is grouped by", () => {
  const expression =
    'max by (what, instance) (sum without(le) (rate(treadle_a_total{x="1", y!~"b|c"}[5m]))) / treadle_b > up';
  expect(listSelectors(expression)).toEqual([
    {
      name: "treadle_a_total",
      matchers: [
        { label: "x", operator: "=", value: "1" },
        { label: "y", operator: "!~", value: "b|c" },
      ],
    },
    { name: "treadle_b", matchers: [] },
    { name: "up", matchers: [] },
  ]);
  expect(listGroupings(expression)).toEqual(["what", "instance", "le"]);
});
