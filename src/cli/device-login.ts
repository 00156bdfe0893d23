import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import type { DeviceCode } from "../../domain/api/device-codes.ts";
import { hasBrowser, openPage } from "../start/page.ts";
import type { Client } from "./client.ts";
import type { Context } from "./command.ts";
import { Refusal, toRefusal } from "./refusal.ts";

const NAME_CHARACTERS_MAX = 100;
/** A service may be too busy to answer, or restart. It gets that much more time before the next question. */
const LATER_SECONDS = 5;
const LATER: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const CREATED = 201;
const ACCEPTED = 202;
const NOT_FOUND = 404;

type Codes = z.infer<typeof DeviceCode>;

/**
 * Signs in by a browser, as RFC 8628 describes, and returns the access token. Prints the page's address with a code, opens it
 * where there is a browser, and asks the service until a person has answered there. Throws a refusal when they refuse, or after
 * ten minutes.
 */
export async function fetchTokenByBrowser(
  { io, status }: Context,
  client: Client,
  { name, opens }: { name: string; opens: boolean },
): Promise<string> {
  const { deviceCode, userCode, intervalSeconds } = await begin(client, name);
  // On the service that this command was given: what an answer names might be anywhere.
  const page = `${client.url}/device#${userCode}`;
  // With --quiet as well: without these lines nobody could go on.
  io.stderr.write(`Open ${page}\nand allow it there, when the page shows the code ${userCode}.\n`);
  if (opens && hasBrowser(io.env)) openPage(io.env, page);
  status.show("Waiting for the browser");
  let seconds = intervalSeconds;
  for (;;) {
    await sleep(seconds * 1000);
    const answer = await client.call("POST", "/api/device-codes/token", { json: { deviceCode } });
    const { token } = answer.body as { token?: string };
    if (answer.status === CREATED && token !== undefined) return token;
    if (answer.status !== ACCEPTED && !LATER.has(answer.status)) throw toRefusal(answer.status, answer.body);
    seconds = answer.status === ACCEPTED ? intervalSeconds : LATER_SECONDS;
  }
}

async function begin(client: Client, name: string): Promise<Codes> {
  const { status, body } = await client.call("POST", "/api/device-codes", {
    json: { name: name.slice(0, NAME_CHARACTERS_MAX) },
  });
  if (status === NOT_FOUND)
    throw new Refusal("Unexpected answer", `${client.url} knows no such sign-in. Use treadle login --token.`);
  if (status < 200 || status > 299) throw toRefusal(status, body);
  const codes = body as Codes;
  if (/^[A-Z]{4}-[A-Z]{4}$/.test(codes.userCode)) return codes;
  throw new Refusal("Unexpected answer", `${client.url} sent no code that can be shown. Is it Treadle?`);
}
