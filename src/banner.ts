import type { ReadyFile } from "./ready-file.ts";

/** What a person needs after the start: where it is, how to sign in, and a call that works when pasted. */
export function createBanner(ready: ReadyFile, notes: readonly string[]): string {
  const hello = ready.workflows.hello;
  const call =
    hello === undefined
      ? []
      : [
          "",
          "  Try it:",
          "",
          `    curl --cacert ${quote(ready.caFile)} ${ready.apiUrl}/workflows/${hello.workflowId}/execute \\`,
          `      -H 'x-api-key: ${hello.apiKey}' -H 'content-type: application/json' -d '{"name": "Ada"}'`,
        ];
  return [
    "",
    "  Treadle is ready.",
    "",
    `    URL          ${ready.url}`,
    ...(ready.signIn === null
      ? []
      : [`    Sign-in      ${ready.signIn.email}  ${ready.signIn.password ?? "with the password you chose"}`]),
    ...(hello === undefined ? [] : [`    API key      ${hello.apiKey} (of the example hello)`]),
    `    Temporal UI  ${ready.temporalUiUrl ?? "not ours: see your cluster"}`,
    ...call,
    "",
    ...notes.map((note) => `  ${note}`),
    "  Ctrl-C stops everything.",
    "",
  ].join("\n");
}

/** A path as a POSIX shell takes it literally. */
function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
