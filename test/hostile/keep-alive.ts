import type { Socket } from "node:net";
import { type Address, openConnection, type Reply, readReplies } from "./wire.ts";

/** One caller, who sends one request after the other over the same connection for as long as the service keeps it. */
export interface Line {
  /** The answer; undefined when the service closed without a whole one, or gave none within `hangMs`. */
  send(request: Buffer, hangMs: number): Promise<Reply | undefined>;
  close(): void;
}

export function createLine(address: Address): Line {
  let socket: Socket | undefined;
  let received = Buffer.alloc(0);

  async function connect(): Promise<Socket> {
    const opened = await openConnection(address);
    received = Buffer.alloc(0);
    return opened;
  }

  function readReply(from: Socket, hangMs: number): Promise<Reply | undefined> {
    return new Promise((resolve) => {
      const stop = (reply: Reply | undefined): void => {
        clearTimeout(timer);
        from.off("data", take).off("close", gone);
        resolve(reply);
      };
      const read = (closed: boolean): Reply | undefined => {
        const { replies, rest } = readReplies(received, { isHead: false, closed });
        if (replies.length > 0) received = Buffer.from(rest);
        return replies[0];
      };
      const take = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        const reply = read(false);
        if (reply !== undefined) stop(reply);
      };
      const gone = (): void => stop(read(true));
      const timer = setTimeout(() => stop(undefined), hangMs);
      from.on("data", take).once("close", gone);
    });
  }

  return {
    async send(request, hangMs) {
      if (socket === undefined || socket.destroyed || !socket.writable) socket = await connect();
      const reply = readReply(socket, hangMs);
      socket.write(request);
      const answered = await reply;
      if (answered === undefined || answered.headers.get("connection") === "close") {
        socket.destroy();
        socket = undefined;
      }
      return answered;
    },
    close: () => void socket?.destroy(),
  };
}
