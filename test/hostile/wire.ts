import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { withTimeout } from "../../system/with-timeout.ts";

/** Longer than any answer may take; an exchange that is not over by then counts as a hang. */
const HANG_MS = 15_000;
/** How long after the last expected answer another one would have come. */
const QUIET_MS = 25;

export interface Address {
  readonly port: number;
  /** The certificate to trust; without it the connection is plain TCP. */
  readonly cert: string | undefined;
}

export interface Reply {
  readonly status: number;
  /** Names in lower case; of repeated headers the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Exchange {
  readonly replies: readonly Reply[];
  /** Statuses such as 100 that came before the answers. */
  readonly interim: readonly number[];
  /** Whether the service closed the connection. */
  readonly closed: boolean;
  /** Bytes that are not a whole answer. */
  readonly rest: Buffer;
  readonly ms: number;
  readonly hung: boolean;
}

/** Bytes to send; a number is a pause in milliseconds, null closes our direction. */
export type Piece = Buffer | string | number | null;

/** A connection that is ready to send. Errors are no events of interest: what counts is what the other side said. */
export async function openConnection({ port, cert }: Address): Promise<Socket> {
  const socket =
    cert === undefined
      ? connectTcp(port, "127.0.0.1")
      : connectTls({ port, host: "127.0.0.1", servername: "localhost", ca: cert });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    socket.once(cert === undefined ? "connect" : "secureConnect", () => resolve());
    socket.once("close", () => resolve());
  });
  return socket;
}

/**
 * Sends exactly these bytes and reads until the service closes, or `replies` answers came and then silence. Strings are
 * sent as Latin-1, so that any byte can be written down. Never rejects for what the service does.
 */
export async function exchange(
  address: Address,
  pieces: readonly Piece[],
  options: { replies?: number; isHead?: boolean; hangMs?: number } = {},
): Promise<Exchange> {
  const { replies = 1, isHead = false, hangMs = HANG_MS } = options;
  const since = performance.now();
  const socket = await openConnection(address);
  const chunks: Buffer[] = [];
  let closed = socket.destroyed;
  let notify: () => void = () => undefined;
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    notify();
  });
  socket.once("close", () => {
    closed = true;
    notify();
  });
  void writePieces(socket, pieces);
  for (let quiet = false; !closed && !quiet; ) {
    const isComplete = readReplies(Buffer.concat(chunks), { isHead, closed }).replies.length >= replies;
    const patienceMs = isComplete ? QUIET_MS : hangMs - (performance.now() - since);
    if (patienceMs <= 0) break;
    const news = new Promise<true>((resolve) => (notify = () => resolve(true)));
    quiet = !(await withTimeout(news, patienceMs, () => false)) && isComplete;
  }
  const wasClosed = closed;
  const ms = performance.now() - since;
  socket.destroy();
  return {
    ...readReplies(Buffer.concat(chunks), { isHead, closed }),
    closed: wasClosed,
    ms,
    hung: !wasClosed && ms >= hangMs,
  };
}

async function writePieces(socket: Socket, pieces: readonly Piece[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (typeof piece === "number") await sleep(piece);
    else if (piece === null) socket.end();
    else socket.write(Buffer.isBuffer(piece) ? piece : Buffer.from(piece, "latin1"));
  }
}

/** Takes bytes apart into whole answers, strictly: what does not read as HTTP/1.1 is left in `rest`. */
export function readReplies(
  bytes: Buffer,
  state: { isHead: boolean; closed: boolean },
): { replies: Reply[]; interim: number[]; rest: Buffer } {
  const replies: Reply[] = [];
  const interim: number[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return { replies, interim, rest };
    const [first = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) /.exec(`${first} `)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) return { replies, interim, rest };
    const headers = new Map(lines.map((line) => splitHeader(line)));
    const after = rest.subarray(end + 4);
    if (status < 200) {
      interim.push(status);
      rest = after;
      continue;
    }
    const body = readBody(after, {
      headers,
      closed: state.closed,
      isEmpty: state.isHead || status === 204 || status === 304,
    });
    if (body === undefined) return { replies, interim, rest };
    replies.push({ status, headers, body: body.content });
    rest = after.subarray(body.bytes);
  }
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** The body at the beginning of `bytes` and how many bytes it takes there; undefined while it is not complete. */
function readBody(
  bytes: Buffer,
  message: { headers: ReadonlyMap<string, string>; closed: boolean; isEmpty: boolean },
): { content: Buffer; bytes: number } | undefined {
  if (message.isEmpty) return { content: Buffer.alloc(0), bytes: 0 };
  if (message.headers.get("transfer-encoding") === "chunked") return readChunks(bytes);
  const length = message.headers.get("content-length");
  if (length === undefined) return message.closed ? { content: bytes, bytes: bytes.length } : undefined;
  const count = Number(length);
  return bytes.length < count ? undefined : { content: bytes.subarray(0, count), bytes: count };
}

function readChunks(bytes: Buffer): { content: Buffer; bytes: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString("latin1"), 16);
    if (Number.isNaN(size) || bytes.length < end + 2 + size + 2) return undefined;
    if (size === 0) return { content: Buffer.concat(parts), bytes: end + 4 };
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
