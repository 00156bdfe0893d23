import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { freePort } from "../ports.ts";
import type { ClientRecord } from "../record.ts";
import type { LoadDeps } from "./clients.ts";

/** A slow receiver takes this long for its answer. */
const SLOW_MS = 3_000;

/**
 * The places of a run, and how each answers. `flaky`: each message it refuses once. `dead`: it takes what comes and answers nothing.
 * `closed`: nobody listens there.
 */
const ANSWERING = ["ops", "slow", "flaky"] as const;
const PLACES = [...ANSWERING, "dead", "closed"] as const;

/** Whether everything that is sent to a place is to arrive there. */
export const isAnswering = (place: string): boolean => ANSWERING.some((name) => name === place);

/** What gets the notices of a run, on loopback. */
export interface Receivers {
  /** What `TREADLE_NOTICE_HOSTS` has to allow. */
  readonly hosts: string;
  /** The URL of each place by its name. */
  readonly urls: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

interface Sent {
  readonly type: string;
  readonly data: { readonly more: number; readonly run: { readonly executionId: string } | null };
}

/** Opens them. Each message is in the record before it is answered. */
export async function openReceivers(record: Pick<ClientRecord, "write">): Promise<Receivers> {
  const refused = new Set<string>();
  const answer = (place: string, notice: string, response: ServerResponse): number | undefined => {
    if (place === "dead") return undefined;
    if (place === "flaky" && !refused.has(notice)) {
      refused.add(notice);
      return 503;
    }
    if (place === "slow") setTimeout(() => response.end(), SLOW_MS);
    return 204;
  };
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => void chunks.push(chunk));
    message.on("end", () => {
      const place = (message.url ?? "").slice(1);
      const notice = String(message.headers["webhook-id"]);
      const { type, data } = JSON.parse(Buffer.concat(chunks).toString()) as Sent;
      const status = answer(place, notice, response);
      const told = { kind: type, more: data.more, executionId: data.run?.executionId ?? null };
      record.write({ type: "notice", at: Date.now(), place, notice, ...told, status: status ?? null });
      if (status === undefined) return;
      response.statusCode = status;
      if (place !== "slow") response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const closed = `127.0.0.1:${await freePort()}`;
  return {
    hosts: `${here},${closed}`,
    urls: Object.fromEntries(PLACES.map((name) => [name, `http://${name === "closed" ? closed : here}/${name}`])),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Adds them as places of the first account: the manifests of `workflows/` name them. */
export async function addPlaces(
  deps: Pick<LoadDeps, "apiUrl" | "agent"> & { readonly operatorToken: string },
  urls: Receivers["urls"],
): Promise<void> {
  for (const [name, target] of Object.entries(urls)) {
    const answer = await request(`${deps.apiUrl}/places`, {
      dispatcher: deps.agent,
      method: "POST",
      headers: { authorization: `Bearer ${deps.operatorToken}`, "content-type": "application/json" },
      body: JSON.stringify({ name, target, kind: "webhook" }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`The place ${name} was not added: ${text}`);
  }
}
