import { readFileSync } from "node:fs";
import { parse } from "yaml";

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly datasource: { readonly uid: string };
  }[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: unknown }[];
  };
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** The text of a file of the folder `deploy`. */
export function readDeployed(path: string): string {
  return readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8");
}

export function readDashboard(): Dashboard {
  return JSON.parse(readDeployed("grafana/dashboards/treadle.json")) as Dashboard;
}

export function readAlerts(): readonly AlertRule[] {
  const { groups } = parse(readDeployed("prometheus/alerts.yaml")) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
