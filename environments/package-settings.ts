import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Variables = Readonly<Record<string, string | undefined>>;

/** What uv and pip both read under the same names. */
const COMMON = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "SSL_CLIENT_CERT",
  "NETRC",
];
const PIP_SECTIONS = ["global", "install", "download"];
const USERINFO = /:\/\/[^/@\s,]*@/g;

/**
 * The machine's settings about where packages come from: variables, and what pip's configuration files say. Only the
 * files of the service's own user and of the system; a variable wins over a file. Values may hold credentials.
 */
export async function collectPackageSettings(env: Variables, homeDir: string): Promise<Variables> {
  const files = [
    "/etc/xdg/pip/pip.conf",
    "/etc/pip.conf",
    join(homeDir, ".pip/pip.conf"),
    join(homeDir, ".config/pip/pip.conf"),
  ];
  if (env.PIP_CONFIG_FILE !== undefined) files.push(env.PIP_CONFIG_FILE);
  const collected: Record<string, string | undefined> = {};
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => "");
    Object.assign(collected, parsePipConfiguration(text));
  }
  return { ...collected, ...env };
}

/** pip's configuration as the variables that say the same: `index-url` becomes `PIP_INDEX_URL`. */
export function parsePipConfiguration(text: string): Record<string, string> {
  const sections = new Map(PIP_SECTIONS.map((name) => [name, new Map<string, string>()]));
  let section: Map<string, string> | undefined;
  let last: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\[([^\]]+)\]/.exec(line)?.[1];
    const [, key, value] = /^([A-Za-z][\w-]*)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (heading !== undefined) {
      section = sections.get(heading.trim());
      last = undefined;
    } else if (key !== undefined && value !== undefined) {
      last = `PIP_${key.toUpperCase().replaceAll("-", "_")}`;
      section?.set(last, value.trim());
    } else if (/^[ \t]+[^#;\s]/.test(line) && last !== undefined) {
      section?.set(last, `${section.get(last) ?? ""} ${line.trim()}`.trim());
    }
  }
  return Object.fromEntries(PIP_SECTIONS.flatMap((name) => [...(sections.get(name) ?? [])]));
}

/** The settings in uv's words; what only pip's words say is translated. Nothing else of the machine's variables is in it. */
export function toUvVariables(env: Variables): Record<string, string> {
  return defined({
    ...common(env),
    UV_DEFAULT_INDEX: env.UV_DEFAULT_INDEX ?? env.UV_INDEX_URL ?? env.PIP_INDEX_URL,
    UV_INDEX: env.UV_INDEX,
    UV_EXTRA_INDEX_URL: env.UV_EXTRA_INDEX_URL ?? env.PIP_EXTRA_INDEX_URL,
    UV_FIND_LINKS: existing(env.UV_FIND_LINKS?.split(",") ?? words(env.PIP_FIND_LINKS)).join(","),
    UV_INSECURE_HOST: env.UV_INSECURE_HOST ?? env.PIP_TRUSTED_HOST,
    UV_HTTP_TIMEOUT: env.UV_HTTP_TIMEOUT ?? env.PIP_DEFAULT_TIMEOUT ?? env.PIP_TIMEOUT,
    ...pick(env, (name) => /^UV_(?:HTTP_RETRIES|INDEX_STRATEGY|EXCLUDE_NEWER|SYSTEM_CERTS|NATIVE_TLS)$/.test(name)),
    ...pick(env, (name) => /^UV_INDEX_.+_(?:USERNAME|PASSWORD)$/.test(name)),
    SSL_CERT_FILE: certificates(env),
    SSL_CLIENT_CERT: env.SSL_CLIENT_CERT ?? env.PIP_CLIENT_CERT,
    UV_PYTHON_DOWNLOADS: "never",
  });
}

/** What uv has no variable for, as arguments of its `pip` commands. */
export function toUvArguments(env: Variables): string[] {
  return /^(?:1|true|yes|on)$/i.test(env.PIP_NO_INDEX ?? "") ? ["--no-index"] : [];
}

/** The settings in pip's words; what only uv's words say is translated. pip reads no configuration file beside them. */
export function toPipVariables(env: Variables): Record<string, string> {
  const indexes = [
    ...words(env.UV_INDEX).map((word) => word.replace(/^[\w-]+=/, "")),
    ...words(env.UV_EXTRA_INDEX_URL),
  ];
  return defined({
    ...common(env),
    PIP_INDEX_URL: env.PIP_INDEX_URL ?? env.UV_DEFAULT_INDEX ?? env.UV_INDEX_URL,
    PIP_EXTRA_INDEX_URL: env.PIP_EXTRA_INDEX_URL ?? indexes.join(" "),
    PIP_FIND_LINKS: existing(
      env.PIP_FIND_LINKS === undefined ? (env.UV_FIND_LINKS?.split(",") ?? []) : words(env.PIP_FIND_LINKS),
    ).join(" "),
    PIP_NO_INDEX: env.PIP_NO_INDEX,
    PIP_TRUSTED_HOST: env.PIP_TRUSTED_HOST ?? env.UV_INSECURE_HOST,
    PIP_DEFAULT_TIMEOUT: env.PIP_DEFAULT_TIMEOUT ?? env.PIP_TIMEOUT ?? env.UV_HTTP_TIMEOUT,
    PIP_RETRIES: env.PIP_RETRIES ?? env.UV_HTTP_RETRIES,
    PIP_PROXY: env.PIP_PROXY,
    PIP_CERT: certificates(env),
    PIP_CLIENT_CERT: env.PIP_CLIENT_CERT ?? env.SSL_CLIENT_CERT,
    PIP_CONFIG_FILE: "/dev/null",
  });
}

/** The same settings for an installer that only reads its own cache: where things came from, but no secret. */
export function withoutCredentials(variables: Record<string, string>): Record<string, string> {
  const kept = Object.entries(variables).filter(([name]) => !/_(?:USERNAME|PASSWORD)$|CERT|PROXY$|^NETRC$/i.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, value.replaceAll(USERINFO, "://")]));
}

/** A line that people may read, without what stands between `://` and `@`. */
export function hideCredentials(line: string): string {
  return line.replaceAll(USERINFO, "://");
}

/** Folders of this machine that packages are taken from. */
export function localFoldersOf(variables: Record<string, string>): string[] {
  const names = Object.keys(variables).filter((name) => /FIND_LINKS$|INDEX(?:_URL)?$/.test(name));
  const values = names
    .flatMap((name) => (variables[name] ?? "").split(/[\s,]+/))
    .map((word) => word.replace(/^[\w-]+=/, ""));
  return [...new Set(values.map(toLocalPath).filter((path) => path !== undefined && existsSync(path)))] as string[];
}

function toLocalPath(place: string): string | undefined {
  if (place.startsWith("/")) return place;
  return place.startsWith("file:///") ? fileURLToPath(place) : undefined;
}

/** uv refuses to work with a folder that is not there; pip only warns. */
function existing(places: readonly string[]): string[] {
  return places.filter((place) => place !== "" && existsSync(toLocalPath(place) ?? "/"));
}

function certificates(env: Variables): string | undefined {
  return env.PIP_CERT ?? env.SSL_CERT_FILE ?? env.REQUESTS_CA_BUNDLE ?? env.CURL_CA_BUNDLE;
}

function common(env: Variables): Variables {
  const proxy = env.PIP_PROXY === undefined ? {} : { HTTP_PROXY: env.PIP_PROXY, HTTPS_PROXY: env.PIP_PROXY };
  return { ...proxy, ...pick(env, (name) => COMMON.includes(name.toUpperCase())) };
}

function pick(env: Variables, isWanted: (name: string) => boolean): Variables {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isWanted(name)));
}

function defined(env: Variables): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== "")) as Record<
    string,
    string
  >;
}

function words(text: string | undefined): string[] {
  return text?.split(/\s+/).filter((word) => word !== "") ?? [];
}
