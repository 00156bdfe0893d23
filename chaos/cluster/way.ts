import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";

/** A port of this machine that leads to servers until it is cut. */
export interface Way {
  readonly port: number;
  /** How many bytes callers have sent through it. */
  sentBytes(): number;
  /** Ends all that goes through it, and refuses more. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

/** `choose` answers where the next connection goes; without an answer it is closed at once. */
export async function openWay(choose: () => NetConnectOpts | undefined): Promise<Way> {
  let listening: Server | undefined;
  let port = 0;
  let sentBytes = 0;
  const sockets = new Set<Socket>();
  const join = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.on("error", () => undefined);
    socket.pipe(other);
  };
  const mend = async (): Promise<void> => {
    if (listening !== undefined) return;
    const opened = createServer((caller) => {
      const target = choose();
      if (target === undefined) return void caller.destroy();
      const callee = connect(target);
      caller.on("data", (chunk: Buffer) => (sentBytes += chunk.length));
      join(caller, callee);
      join(callee, caller);
    });
    opened.listen(port, "127.0.0.1");
    await once(opened, "listening");
    port = (opened.address() as AddressInfo).port;
    listening = opened;
  };
  const cut = async (): Promise<void> => {
    const closing = listening;
    listening = undefined;
    if (closing === undefined) return;
    const closed = once(closing, "close");
    closing.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await mend();
  return { port, sentBytes: () => sentBytes, cut, mend };
}
