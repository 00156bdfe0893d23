import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { openPage } from "../start/page.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import type { Answer, CliIo } from "./io.ts";
import { findLogin, findLoginPlace } from "./kept-login.ts";
import { Refusal } from "./refusal.ts";
import { toBaseUrl } from "./service-url.ts";

/** `login URL` and `logout`. */
export function addLoginCommands(program: Command, act: Act): void {
  addCommand(program, "login", "keep an access token for a service, which other commands then use")
    .argument("<url>", "the address of the service")
    .action(act(login));
  addCommand(program, "logout", "forget the token that login has kept; it stays good until it is revoked").action(
    act(async ({ io }) => {
      const path = requirePlace(io);
      const isThere = (await findLogin(io)) !== undefined;
      await rm(path, { force: true });
      return { document: { loggedOut: isThere }, lines: [isThere ? "Forgotten" : "There was no login"] };
    }),
  );
}

/** The token is typed or pasted: an argument would be seen by every user of the machine. */
async function login(context: Context, [address = ""]: readonly string[]): Promise<Answer> {
  const { io } = context;
  const path = requirePlace(io);
  const url = toBaseUrl(address, "The address");
  const page = `${url}/account/tokens`;
  openPage(io.env, page);
  context.say(`Make an access token on ${page} and paste it here:`);
  const token = await readLine(io);
  if (token === "") throw new Refusal("No access token", "No token came. Make one, and log in again.");
  const { createClient } = await import("./client.ts");
  const client = createClient({ url, token, local: undefined, authorities: undefined });
  try {
    const { name } = await client.get<{ name: string }>("/api/account");
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rm(path, { force: true }); // an older file may have been made readable for others
    await writeFile(path, `${JSON.stringify({ url, token })}\n`, { mode: 0o600 });
    return { document: { url, account: name }, lines: [`Logged in to ${url}, account ${name}`] };
  } finally {
    await client.close();
  }
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
