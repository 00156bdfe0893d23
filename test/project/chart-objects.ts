import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import type { KubernetesObject } from "./chart-programs.ts";

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly securityContext: object;
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme?: string };
}

export interface PodSpec {
  readonly securityContext: object;
  readonly hostUsers?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly secret?: { secretName: string; defaultMode: number } }[];
}

export type Labels = Readonly<Record<string, string>>;

export interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Labels };
    readonly serviceName?: string;
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

export interface Service extends KubernetesObject {
  readonly spec: { readonly selector: Labels; readonly ports: readonly { readonly targetPort: string }[] };
}

export interface Autoscaler extends KubernetesObject {
  readonly spec: {
    readonly scaleTargetRef: { readonly kind: string; readonly name: string };
    readonly metrics: readonly Readonly<
      Record<string, { metric: { name: string; selector?: { matchLabels: Labels } }; target: object }>
    >[];
  };
}

const documents = new Map<string, ValidateFunction>();

/** What checks an object by the schema of its kind. A field that the schema does not have is an error, as for `--validate=strict`. */
export function validatorOf(schemas: string, { apiVersion, kind }: KubernetesObject): ValidateFunction {
  const known = documents.get(`${apiVersion} ${kind}`);
  if (known !== undefined) return known;
  const path = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  const { components } = JSON.parse(readFileSync(join(schemas, `${path}.json`), "utf8")) as {
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  const [group = "", version = group] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const [name] =
    Object.entries(components.schemas).find(([, schema]) => {
      const kinds = (schema["x-kubernetes-group-version-kind"] ?? []) as {
        group: string;
        version: string;
        kind: string;
      }[];
      return kinds.some((each) => each.kind === kind && each.version === version && each.group === group);
    }) ?? [];
  if (name === undefined) throw new Error(`Kubernetes has no ${kind} in ${apiVersion}.`);
  for (const schema of Object.values(components.schemas))
    if (schema["properties"] !== undefined) schema["additionalProperties"] ??= false;
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile({ components, $ref: `#/components/schemas/${name}` });
  documents.set(`${apiVersion} ${kind}`, validate);
  return validate;
}
