import type { RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import { DEFAULT_PATIENCE, type Patience } from "./patience.ts";

const CLOSE_LOOK_MS = 25;
/** The first byte of every TLS connection: a handshake record. */
const TLS_HANDSHAKE = 0x16;

export interface HttpsServer {
  readonly port: number;
  /** Takes no new connection, lets calls under way finish for `graceMs`, then ends them. Resolves when all are gone. */
  close(graceMs: number): Promise<void>;
}

export interface HttpsServerOptions extends Partial<Patience> {
  readonly app: RequestListener;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string };
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** A proxy ends TLS: plain HTTP is taken when the proxy says that the caller used HTTPS. */
  readonly trustProxy: boolean;
  readonly log: Log;
}

/**
 * Listens for HTTPS, and on the same port for plain HTTP only to refuse it with words. Never redirects: by then a key
 * would have been sent in the open. Rejects when the port cannot be had.
 */
export async function createHttpsServer(options: HttpsServerOptions): Promise<HttpsServer> {
  const patience = { ...DEFAULT_PATIENCE, ...options };
  const listeners = createListeners(patience);
  const undecided = new Set<Socket>();
  const front = createTcpServer({ noDelay: true }, (socket) =>
    decideByFirstByte(socket, { listeners, undecided, firstByteMs: patience.firstByteMs }),
  );
  await listen(front, options);
  front.on("error", (error) => options.log.error({ event: "fault", error }, "The HTTPS listener failed."));
  return {
    port: (front.address() as AddressInfo).port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      for (const socket of undecided) socket.destroy();
      listeners.endIdle();
      // A connection without a call ends within a moment, so that the wait is for calls alone.
      const sweep = setInterval(listeners.endIdle, CLOSE_LOOK_MS);
      const outcome = await Promise.race([closed, sleep(graceMs, "late" as const, { ref: false })]);
      clearInterval(sweep);
      if (outcome === "late") listeners.endAll();
      await closed;
      listeners.close();
    },
  };
}

function decideByFirstByte(
  socket: Socket,
  { listeners, undecided, firstByteMs }: { listeners: Listeners; undecided: Set<Socket>; firstByteMs: number },
): void {
  undecided.add(socket);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => undecided.delete(socket));
  socket.setTimeout(firstByteMs, () => socket.destroy());
  socket.once("data", (first: Buffer) => {
    undecided.delete(socket);
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
    socket.pause();
    socket.unshift(first);
    const isTls = first[0] === TLS_HANDSHAKE;
    (isTls ? listeners.secure : listeners.plain).emit("connection", socket);
    if (!isTls) process.nextTick(() => socket.resume());
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
