import type { RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { withTimeout } from "../../../system/with-timeout.ts";
import type { Log } from "../../log.ts";
import { answerBusy, REFUSING_TIMEOUTS } from "./busy.ts";
import type { Connections } from "./connections.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import type { Timeouts } from "./timeouts.ts";
import { createPacing } from "./turns.ts";

const CLOSE_LOOK_MS = 25;
const COMPLAINT_MS = 10_000;
/** The first byte of every TLS connection: a handshake record. */
const TLS_HANDSHAKE = 0x16;

export interface HttpsServer {
  readonly port: number;
  /** Takes no new connection, and ends those without a call under way. Resolves when all are gone. */
  leave(): Promise<void>;
  /** Serves another certificate to new connections; those that are open go on. Throws, and changes nothing, when it cannot be used. */
  setCertificate(tls: HttpsServerOptions["tls"]): void;
  /** Takes no new connection, lets calls under way finish for `graceMs`, then ends them. Resolves when all are gone. */
  close(graceMs: number): Promise<void>;
}

export interface HttpsServerOptions extends Timeouts {
  readonly app: RequestListener;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string };
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** A proxy ends TLS: plain HTTP is taken when the proxy says that the caller used HTTPS. */
  readonly trustProxy: boolean;
  /** Bounds the connections. */
  readonly connections: Connections;
  readonly log: Log;
}

/**
 * Listens for HTTPS, and on the same port for plain HTTP only to refuse it with words. Never redirects: by then a key
 * would have been sent in the open. A connection beyond the bounds is answered 503. Rejects when the port cannot be had.
 */
export async function createHttpsServer(options: HttpsServerOptions): Promise<HttpsServer> {
  const { trustProxy, log, tls, connections, pace } = options;
  const serving = createListeners({ ...options, follow: connections.follow });
  const refusing = createListeners({
    ...REFUSING_TIMEOUTS,
    pace,
    app: answerBusy,
    tls,
    trustProxy,
    follow: () => undefined,
  });
  const undecided = new Set<Socket>();
  const takeTurn = createPacing();
  const complain = createComplaint(connections, log);
  const front = createTcpServer({ noDelay: true }, (socket) => {
    const admission = connections.admit(socket);
    if (admission !== "serve") complain();
    if (admission === "close") return void socket.destroy();
    const isServed = admission === "serve";
    const { firstByteMs } = isServed ? options : REFUSING_TIMEOUTS;
    decideByFirstByte(socket, { listeners: isServed ? serving : refusing, undecided, firstByteMs, takeTurn });
  });
  await listen(front, options);
  front.on("error", (error) => log.error({ event: "fault", error }, "The HTTPS listener failed."));
  let left: Promise<void> | undefined;
  const leave = (): Promise<void> => {
    if (left !== undefined) return left;
    const closed = new Promise<void>((resolve) => front.close(() => resolve()));
    for (const socket of undecided) socket.destroy();
    refusing.endAll();
    serving.endIdle();
    // A connection without a call ends within a moment, so that the wait is for calls alone.
    const sweep = setInterval(serving.endIdle, CLOSE_LOOK_MS);
    left = closed.finally(() => clearInterval(sweep));
    return left;
  };
  return {
    port: (front.address() as AddressInfo).port,
    leave,
    setCertificate(next) {
      createSecureContext(next);
      for (const { secure } of [serving, refusing]) secure.setSecureContext(next);
    },
    async close(graceMs) {
      const closed = leave();
      await withTimeout(closed, graceMs, () => serving.endAll());
      await closed;
      for (const listeners of [serving, refusing]) listeners.close();
    },
  };
}

/** Writes a line for many refusals. One each would let a refused caller fill the log. */
function createComplaint(connections: Connections, log: Log): () => void {
  let at = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - at < COMPLAINT_MS) return;
    at = performance.now();
    log.warn(
      { event: "connections.full", ...connections.figures() },
      "A connection was refused: as many are open as may be, in all or of its address.",
    );
  };
}

/** What a new connection needs until its first byte says whether it speaks TLS or plain HTTP. */
interface Undecided {
  readonly listeners: Listeners;
  readonly undecided: Set<Socket>;
  readonly firstByteMs: number;
  /** A handshake takes one to three milliseconds of the event loop, so forty at once would keep everybody else waiting. */
  readonly takeTurn: ReturnType<typeof createPacing>;
}

function decideByFirstByte(socket: Socket, { listeners, undecided, firstByteMs, takeTurn }: Undecided): void {
  undecided.add(socket);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => undecided.delete(socket));
  socket.setTimeout(firstByteMs, () => socket.destroy());
  socket.once("data", (first: Buffer) => {
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
    socket.pause();
    socket.unshift(first);
    const isTls = first[0] === TLS_HANDSHAKE;
    takeTurn(() => {
      undecided.delete(socket);
      if (socket.destroyed) return;
      (isTls ? listeners.secure : listeners.plain).emit("connection", socket);
      if (!isTls) process.nextTick(() => socket.resume());
    });
  });
}

function listen(front: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void => {
      if (error.code !== "EADDRINUSE") return reject(error);
      const message = `Port ${port} of ${host} is in use. Stop what uses it, or choose another port (TREADLE_PORT; 0 takes a free one).`;
      reject(new Error(message, { cause: error }));
    };
    front.once("error", refuse);
    front.listen(port, host, () => {
      front.off("error", refuse);
      resolve();
    });
  });
}
