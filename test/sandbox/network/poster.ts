/**
 * Sends notices inside the test's world: to each URL on its input, with what is granted behind it, it posts, and answers with what came of it, how often the name
 * was asked for, and how many connections came to the port of this machine. Its own resolver on loopback answers by turns.
 */
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { parseEndpoint } from "../../../domain/destinations.ts";
import { createReceiverAddresses, type ReceiverRules } from "../../../src/notices/addresses.ts";
import { createPostNotice } from "../../../src/notices/receivers.ts";

/** Of each name, what it is answered with, one after the other and over again: addresses of IPv4. */
export type Turns = Readonly<Record<string, readonly (readonly string[])[]>>;

const TYPE_A = 1;
const HEADER_BYTES = 12;

const turns = JSON.parse(process.argv[2] ?? "{}") as Turns;
const port = Number(process.argv[3]);
const own = JSON.parse(process.argv[4] ?? "{}") as Pick<ReceiverRules, "protectedHosts" | "ungrantableHosts">;
const asked = new Map<string, number>();
let connections = 0;

/** Answers one question of DNS; https://www.rfc-editor.org/rfc/rfc1035#section-4 */
function answer(query: Buffer): Buffer {
  const words: string[] = [];
  let end = HEADER_BYTES;
  for (let length = query[end] ?? 0; length > 0; length = query[end] ?? 0) {
    words.push(query.toString("latin1", end + 1, end + 1 + length));
    end += 1 + length;
  }
  const name = words.join(".");
  const isOfIpv4 = query.readUInt16BE(end + 1) === TYPE_A;
  const count = asked.get(name) ?? 0;
  if (isOfIpv4) asked.set(name, count + 1);
  const lists = turns[name] ?? [];
  const found = isOfIpv4 ? (lists[count % lists.length] ?? []) : [];
  const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0]);
  const records = found.map((address) =>
    Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end + 5), ...records]);
}

const resolver = createSocket("udp4");
resolver.on("message", (query, peer) => resolver.send(answer(query), peer.port, peer.address));
await new Promise<void>((resolve) => resolver.bind(53, "127.0.0.1", resolve));
const server = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
await new Promise<void>((resolve) => server.listen(port, resolve));

const post = createPostNotice(createReceiverAddresses({ allowedHosts: [], ...own }));
process.stdout.write("{}\n");
for await (const line of createInterface({ input: process.stdin })) {
  const [url = "", ...grants] = line.split(" ");
  const granted = grants.map(parseEndpoint).flatMap((reading) => ("endpoint" in reading ? [reading.endpoint] : []));
  const delivery = await post(new URL(url), "{}", {}, granted);
  const count = asked.get(new URL(url).hostname) ?? 0;
  process.stdout.write(`${JSON.stringify(Object.assign(delivery, { asked: count, connections }))}\n`);
}
process.exit(0);
