import { fileURLToPath } from "node:url";
import type { Router } from "express";
import type { Storage } from "../activities/storage/storage.ts";
import type { Db } from "../db/connect.ts";
import type { Settings } from "./config.ts";
import { createApp } from "./http/app.ts";
import type { Connections } from "./http/connections.ts";
import { type AppDeps, DEFAULT_HTTP_LIMITS, type Executions, type Readiness } from "./http/deps.ts";
import type { EditorParts } from "./http/editor/parts.ts";
import { patienceOf } from "./http/patience.ts";
import { rateLimitsOf } from "./http/rates.ts";
import { createHttpsServer, type HttpsServer } from "./http/server.ts";
import type { SecretBox } from "./keys/secret-box.ts";
import type { Log } from "./log.ts";
import { pricesOf } from "./service.ts";
import { type Certificate, findServerName } from "./setup/certificate.ts";
import type { Temporal } from "./setup/servers/temporal.ts";
import { PAGES_PATH } from "./setup/servers/temporal-door.ts";

const WEB_FOLDER = fileURLToPath(new URL("../web/", import.meta.url));

export interface FrontDoor extends Pick<HttpsServer, "leave" | "close"> {
  readonly url: string;
  readonly apiUrl: string;
  /** The same service on this machine, and the name that its certificate has: without what may stand before it. */
  readonly local: { readonly url: string; readonly serverName: string | null };
  readonly temporalUiUrl: string | null;
  setCertificate(certificate: Certificate): void;
}

/** Listens to callers; answers the URL they reach. Closing it lets calls under way finish for a while. */
export async function openFrontDoor(deps: {
  settings: Settings;
  connections: Connections;
  db: Db;
  storage: Storage;
  executions: Executions;
  editor: EditorParts;
  secretBox: SecretBox;
  processId: string;
  temporal: Pick<Temporal, "namespace" | "uiUrl" | "pages">;
  tls: Certificate;
  readiness: () => Promise<Readiness>;
  liveLog: NonNullable<AppDeps["liveLog"]>;
  liveProgress: NonNullable<AppDeps["liveProgress"]>;
  metrics: () => Promise<string>;
  countRequest: NonNullable<AppDeps["countRequest"]>;
  routers: readonly Router[];
  following: Pick<AppDeps, "editorEvents" | "openAccess" | "leaving">;
  log: Log;
}): Promise<FrontDoor> {
  const { settings, temporal } = deps;
  let url = settings.TREADLE_PUBLIC_URL ?? "";
  const app = createApp({
    ...{ db: deps.db, storage: deps.storage, executions: deps.executions },
    editor: deps.editor,
    threads: deps.editor.abilities.threads,
    secretBox: deps.secretBox,
    prices: pricesOf(settings),
    apiUrl: () => `${url}/api`,
    limits: {
      ...DEFAULT_HTTP_LIMITS,
      fileBytesMax: settings.TREADLE_FILE_BYTES_MAX,
      requestBytesMax: settings.TREADLE_REQUEST_BYTES_MAX,
    },
    waitMaxSeconds: settings.TREADLE_WAIT_MAX_SECONDS,
    waitingCallsMax: settings.TREADLE_WAITING_CALLS_MAX,
    ...{ rateLimits: rateLimitsOf(settings), keptBytesMax: settings.TREADLE_ACCOUNT_STORAGE_BYTES_MAX },
    processId: deps.processId,
    contact: settings.TREADLE_CONTACT,
    ...{ temporalUiUrl: temporal.uiUrl ?? null, temporalPages: temporal.pages, temporalNamespace: temporal.namespace },
    trustProxy: settings.TREADLE_TRUST_PROXY,
    strictTransport: !deps.tls.selfSigned,
    ...(deps.tls.selfSigned && !settings.TREADLE_TRUST_PROXY
      ? { ownCertificate: { file: deps.tls.caFile, pem: deps.tls.caPem } }
      : {}),
    ...{ readiness: deps.readiness, metrics: deps.metrics, countRequest: deps.countRequest },
    routers: deps.routers,
    webFolder: WEB_FOLDER,
    ...{ liveLog: deps.liveLog, liveProgress: deps.liveProgress },
    ...{ ...deps.following, log: deps.log },
  });
  const server = await createHttpsServer({
    app,
    tls: { cert: deps.tls.certPem, key: deps.tls.keyPem },
    host: settings.TREADLE_HOST,
    port: settings.TREADLE_PORT,
    trustProxy: settings.TREADLE_TRUST_PROXY,
    ...{ connections: deps.connections, log: deps.log, ...patienceOf(settings) },
  });
  const local = findLocal(settings, server.port, deps.tls);
  url = (url || local.url).replace(/\/+$/, "");
  const temporalUiUrl = temporal.pages === undefined ? (temporal.uiUrl ?? null) : `${url}${PAGES_PATH}`;
  return {
    ...{ ...server, url, apiUrl: `${url}/api`, local, temporalUiUrl },
    setCertificate: ({ certPem, keyPem }) => server.setCertificate({ cert: certPem, key: keyPem }),
  };
}

function findLocal(settings: Settings, port: number, { certPem }: Certificate): FrontDoor["local"] {
  const host = urlHost(settings.TREADLE_HOST);
  const { TREADLE_PUBLIC_URL: publicUrl } = settings;
  const names = [host, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  return { url: `https://${host}:${port}`, serverName: findServerName(certPem, names) };
}

/** What a person types for the address we listen on. */
function urlHost(host: string): string {
  if (["127.0.0.1", "0.0.0.0", "::", "::1", "localhost"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
