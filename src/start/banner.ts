import type { ReadyFile } from "./ready-file.ts";

/** Where a banner goes. Only a terminal may show secrets: everything else may be kept as a log. */
export interface BannerPlace {
  readonly isTerminal: boolean;
  /** The path of `ready.json`, which has the secrets. */
  readonly readyFile: string;
}

/** What is to be said beside addresses and keys. */
export interface BannerNews {
  readonly isReady: boolean;
  readonly notes: readonly string[];
  /** Whether browsers do not know who signed the certificate. */
  readonly isCertificateOwn: boolean;
}

/** The browser says it before a page can: it is the first thing that a newcomer sees. */
const WARNING = [
  "Your browser will warn once that the connection is not private: the certificate is",
  'of this machine. Choose "Advanced", then "Proceed". To trust it for good:',
  "",
  "  bin/treadle trust",
];

/**
 * Returns what a person needs after the start: where it is, how to sign in, and a call that works when pasted. On a terminal
 * with password and key; elsewhere with the file that has them, which the call reads.
 */
export function createBanner(
  ready: ReadyFile,
  { isReady, notes, isCertificateOwn }: BannerNews,
  place: BannerPlace,
): string {
  const hello = ready.workflows.hello;
  return [
    "",
    isReady ? "  Treadle is ready." : "  Treadle is up, and not ready: see below.",
    "",
    `    URL          ${ready.url}`,
    ...(ready.signIn === null
      ? []
      : [`    Sign-in      ${ready.signIn.email}  ${describePassword(ready.signIn, place)}`]),
    ...(hello === undefined ? [] : [`    API key      ${describeKey(hello, place)} (of the example hello)`]),
    `    Temporal UI  ${ready.temporalUiUrl ?? "not ours: see your cluster"}`,
    ...(hello === undefined ? [] : ["", "  Try it:", "", ...createCall(ready, hello, place)]),
    ...(isCertificateOwn ? ["", ...WARNING.map((line) => `  ${line}`)] : []),
    "",
    ...notes.map((note) => `  ${note}`),
    "  Ctrl-C stops everything.",
    "",
  ].join("\n");
}

type Hello = ReadyFile["workflows"][string];

function describePassword({ password }: NonNullable<ReadyFile["signIn"]>, place: BannerPlace): string {
  if (password === null) return "with the password you chose";
  return place.isTerminal ? password : `with the password in ${place.readyFile}`;
}

function describeKey({ apiKey }: Hello, { isTerminal, readyFile }: BannerPlace): string {
  return isTerminal ? apiKey : `in ${readyFile}`;
}

function createCall({ caFile, apiUrl }: ReadyFile, { workflowId, apiKey }: Hello, place: BannerPlace): string[] {
  const read = `require(${JSON.stringify(place.readyFile)}).workflows.hello.apiKey`;
  const key = place.isTerminal ? `'x-api-key: ${apiKey}'` : `"x-api-key: $(node -p ${quote(read)})"`;
  return [
    `    curl --cacert ${quote(caFile)} ${apiUrl}/workflows/${workflowId}/execute \\`,
    `      -H ${key} -H 'content-type: application/json' -d '{"name": "Ada"}'`,
  ];
}

/** A path as a POSIX shell takes it literally. */
function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
