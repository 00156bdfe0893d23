import { mkdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { openPage } from "../start/page.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { fetchTokenByBrowser } from "./device-login.ts";
import type { Answer, CliIo } from "./io.ts";
import { findLogin, findLoginPlace, type Login } from "./kept-login.ts";
import { Refusal } from "./refusal.ts";
import { findStrangeService } from "./service.ts";

interface LoginOptions {
  readonly token?: boolean;
  readonly browser: boolean;
  readonly name?: string;
}

/** `login [URL]` and `logout`. */
export function addLoginCommands(program: Command, act: Act): void {
  addCommand(program, "login", "sign in by a browser and keep an access token, which other commands then use")
    .argument("[url]", "the address of the service; the one that other commands use unless given")
    .option("--no-browser", "print the address alone: open it on any device")
    .option("--name <name>", "what the access token is called; this computer's name unless given")
    .option("--token", "read an access token from standard input instead")
    .action(act<LoginOptions>(login));
  addCommand(program, "logout", "forget the token that login has kept; it stays good until it is revoked").action(
    act(async ({ io }) => {
      const path = requirePlace(io);
      const isThere = (await findLogin(io)) !== undefined;
      await rm(path, { force: true });
      return { document: { loggedOut: isThere }, lines: [isThere ? "Forgotten" : "There was no login"] };
    }),
  );
}

async function login(context: Context, [address]: readonly string[], options: LoginOptions): Promise<Answer> {
  const path = requirePlace(context.io);
  const service = await findStrangeService(context.io, { url: address, dataDir: context.dataDir });
  const { createClient } = await import("./client.ts");
  const stranger = createClient(service);
  const token = await (options.token === true
    ? readToken(context, service.url, options)
    : fetchTokenByBrowser(context, stranger, { name: options.name ?? hostname(), opens: options.browser })
  ).finally(() => void stranger.close());
  const client = createClient({ ...service, token });
  try {
    const { name } = await client.get<{ name: string }>("/api/account");
    const { url, caFile } = service;
    await keepLogin(path, { url, token, ...(caFile === undefined ? {} : { caFile }) });
    return { document: { url, account: name }, lines: [`Logged in to ${url}, account ${name}`] };
  } finally {
    await client.close();
  }
}

async function keepLogin(path: string, login: Login): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true }); // an older file may have been made readable for others
  await writeFile(path, `${JSON.stringify(login)}\n`, { mode: 0o600 });
}

/** The token is typed or pasted: an argument would be seen by every user of the machine. */
async function readToken({ io, say }: Context, url: string, { browser }: LoginOptions): Promise<string> {
  const page = `${url}/account/tokens`;
  if (browser) openPage(io.env, page);
  say(`Make an access token on ${page} and paste it here:`);
  const token = await readLine(io);
  if (token === "") throw new Refusal("No access token", "No token came. Make one, and log in again.");
  return token;
}

async function readLine({ stdin }: CliIo): Promise<string> {
  if (stdin === undefined) return "";
  const lines = createInterface({ input: stdin });
  try {
    for await (const line of lines) return line.trim();
    return "";
  } finally {
    lines.close();
  }
}

function requirePlace(io: Pick<CliIo, "env">): string {
  const path = findLoginPlace(io);
  if (path !== undefined) return path;
  throw new Refusal(
    "No home folder",
    "HOME is not set, so there is no place for a login. Use TREADLE_URL and TREADLE_TOKEN.",
  );
}
