import { fileURLToPath } from "node:url";
import { pricesOf, rateLimitsOf, type Settings } from "../config.ts";
import { createApp } from "../http/app.ts";
import { type AppDeps, httpLimitsOf } from "../http/deps.ts";
import type { Connections } from "../http/server/connections.ts";
import { createHttpsServer, type HttpsServer } from "../http/server/server.ts";
import { timeoutsOf } from "../http/server/timeouts.ts";
import { type Certificate, findServerName } from "../setup/certificate.ts";
import type { Temporal } from "../setup/servers/temporal.ts";
import { PAGES_PATH } from "../setup/servers/temporal-proxy.ts";

const WEB_FOLDER = fileURLToPath(new URL("../../web/", import.meta.url));

export interface CallersHttpServer extends Pick<HttpsServer, "leave" | "close"> {
  readonly url: string;
  readonly apiUrl: string;
  /** The same service on this machine, and the name that its certificate has: without what may stand before it. */
  readonly local: { readonly url: string; readonly serverName: string | null };
  readonly temporalUiUrl: string | null;
  setCertificate(certificate: Certificate): void;
}

export interface HttpServerDeps {
  readonly settings: Settings;
  readonly connections: Connections;
  readonly certificate: Certificate;
  readonly temporal: Pick<Temporal, "namespace" | "uiUrl" | "pages">;
  /** The app, but for what this installation's settings, certificate and Temporal decide. */
  readonly app: Omit<AppDeps, keyof ReturnType<typeof appSettingsOf> | "apiUrl">;
}

/** Listens to callers, and returns the URL they reach. Closing it lets calls under way finish for a while. */
export async function openHttpServer(deps: HttpServerDeps): Promise<CallersHttpServer> {
  const { settings, connections, certificate, temporal } = deps;
  let url = settings.TREADLE_PUBLIC_URL ?? ""; // Without a public URL it has the port, which is not chosen yet.
  const server = await createHttpsServer({
    app: createApp({ ...deps.app, ...appSettingsOf(deps), apiUrl: () => `${url}/api` }),
    tls: { cert: certificate.certPem, key: certificate.keyPem },
    host: settings.TREADLE_HOST,
    port: settings.TREADLE_PORT,
    trustProxy: settings.TREADLE_TRUST_PROXY,
    connections,
    log: deps.app.log,
    ...timeoutsOf(settings),
  });
  const local = findLocal(settings, server.port, certificate);
  url = (url || local.url).replace(/\/+$/, "");
  return {
    url,
    apiUrl: `${url}/api`,
    local,
    temporalUiUrl: temporal.pages === undefined ? (temporal.uiUrl ?? null) : `${url}${PAGES_PATH}`,
    leave: server.leave,
    close: server.close,
    setCertificate: ({ certPem, keyPem }) => server.setCertificate({ cert: certPem, key: keyPem }),
  };
}

function appSettingsOf({ settings, certificate, temporal }: Omit<HttpServerDeps, "app">) {
  const isOwnCertificateSeen = certificate.selfSigned && !settings.TREADLE_TRUST_PROXY;
  return {
    prices: pricesOf(settings),
    limits: httpLimitsOf(settings),
    waitMaxSeconds: settings.TREADLE_WAIT_MAX_SECONDS,
    waitingCallsMax: settings.TREADLE_WAITING_CALLS_MAX,
    rateLimits: rateLimitsOf(settings),
    keptBytesMax: settings.TREADLE_ACCOUNT_STORAGE_BYTES_MAX,
    contact: settings.TREADLE_CONTACT,
    temporalUiUrl: temporal.uiUrl ?? null,
    temporalPages: temporal.pages,
    temporalNamespace: temporal.namespace,
    trustProxy: settings.TREADLE_TRUST_PROXY,
    strictTransport: !certificate.selfSigned,
    ...(isOwnCertificateSeen ? { ownCertificate: { file: certificate.caFile, pem: certificate.caPem } } : {}),
    webFolder: WEB_FOLDER,
  };
}

function findLocal(settings: Settings, port: number, { certPem }: Certificate): CallersHttpServer["local"] {
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
