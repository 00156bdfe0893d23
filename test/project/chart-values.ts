/** The values that no installation can leave out. */
const LEAST = {
  image: { repository: "registry.example.com/treadle" },
  settings: {
    TREADLE_PUBLIC_URL: "https://treadle.example.com",
    TREADLE_STORAGE_URL: "s3://treadle?endpoint=https://s3.internal&region=eu-central-1",
    TEMPORAL_ADDRESS: "temporal.internal:7233",
  },
};
const CERTIFICATE = { name: "treadle-tls", files: { TREADLE_TLS_CERT: "tls.crt", TREADLE_TLS_KEY: "tls.key" } };
const SECRETS = [
  { name: "treadle", files: { TREADLE_MASTER_KEY_FILE: "master", DATABASE_URL_FILE: "database-url" } },
  CERTIFICATE,
];

/** Installations that are to work, by what is special about them. */
export const GOOD_VALUES: Readonly<Record<string, object>> = {
  "one api": { ...LEAST, api: { replicas: 1 } },
  "several api with a certificate": { ...LEAST, secrets: SECRETS },
  "two classes of workers": {
    ...LEAST,
    secrets: SECRETS,
    workers: {
      general: {},
      large: {
        replicas: 1,
        settings: { TREADLE_SANDBOX_SLOTS: "2", TREADLE_DRAIN_SECONDS: "3600", TREADLE_NETWORK_SLOTS: "0" },
        resources: { limits: { memory: "64Gi", "example.com/tun": "1" } },
        volume: { size: "500Gi", storageClassName: "fast" },
        nodeSelector: { size: "large" },
        tolerations: [{ key: "size", operator: "Equal", value: "large", effect: "NoSchedule" }],
      },
    },
  },
  "a secured Temporal and a role of the cloud": {
    ...LEAST,
    imagePullSecrets: [{ name: "registry" }],
    serviceAccountName: "treadle",
    settings: { ...LEAST.settings, TEMPORAL_TLS_SERVER_NAME: "temporal", TEMPORAL_NAMESPACE: "workflows.a1b2c" },
    secrets: [
      ...SECRETS,
      {
        name: "temporal",
        files: { TEMPORAL_TLS_CA: "ca.crt", TEMPORAL_TLS_CERT: "tls.crt", TEMPORAL_TLS_KEY: "tls.key" },
      },
    ],
    pod: { appArmorProfile: { type: "Localhost", localhostProfile: "treadle" }, annotations: { team: "data" } },
  },
  "an Ingress in front, and workers by the queue": {
    ...LEAST,
    ingress: {
      enabled: true,
      className: "nginx",
      host: "treadle.example.com",
      tlsSecretName: "treadle-tls",
      from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } }],
    },
    workerDefaults: { autoscaling: { enabled: true } },
    workers: { general: {}, slow: { autoscaling: { queuedPerWorker: 0 } } },
  },
};

/** Values that Helm is to refuse, each with what it says. */
export const BAD_VALUES: Readonly<Record<string, readonly [values: object, message: RegExp]>> = {
  nothing: [{}, /image\.repository|settings\./],
  "several api without a certificate": [LEAST, /several pods need one certificate/],
  "no database": [
    { ...LEAST, secrets: [CERTIFICATE, { name: "treadle", files: { TREADLE_MASTER_KEY_FILE: "master" } }] },
    /DATABASE_URL_FILE/,
  ],
  "a secret among the settings": [
    { ...LEAST, settings: { ...LEAST.settings, DATABASE_URL: "postgresql://u:p@h/d" } },
    /DATABASE_URL/,
  ],
  "a setting that the chart makes": [{ ...LEAST, api: { settings: { TREADLE_ROLE: "all" } } }, /TREADLE_ROLE/],
  "a number in the place of a text": [{ ...LEAST, api: { settings: { TREADLE_FILE_DAYS: 7 } } }, /TREADLE_FILE_DAYS/],
  "an Ingress that anybody may stand in for": [
    { ...LEAST, ingress: { enabled: true, host: "treadle.example.com" } },
    /ingress.*from|from.*minItems/s,
  ],
  "a name that values do not have": [{ ...LEAST, replicas: 3 }, /replicas/],
  "no workers": [{ ...LEAST, workers: { general: null } }, /workers/],
};
