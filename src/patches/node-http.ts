// Written for Node.js 20, 22 and 24: it has no event for the first read of a body, and no option to answer while one is read.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Keeps Node from closing the connection right after the answer, as `Connection: close` makes it do. A caller that is
 * still sending gets a reset then, and loses the answer. The function returned lets Node close it, if it wanted to.
 */
export function holdOpen(socket: Socket): () => void {
  const { destroySoon } = socket;
  let isClosing = false;
  socket.destroySoon = () => {
    isClosing = true;
  };
  return () => {
    socket.destroySoon = destroySoon;
    if (isClosing) socket.destroySoon();
  };
}

/**
 * Returns the connection of a request. Undefined: the reader of the body gave up in the middle, and Node took the connection away, which its
 * types do not say.
 */
export function socketOf(request: IncomingMessage): Socket | undefined {
  return (request.socket as Socket | null) ?? undefined;
}

/** Calls `report` once, right before the body of a request is read for the first time, in whichever way. */
export function onFirstRead(request: IncomingMessage, report: () => void): void {
  const read = request._read;
  request._read = function (this: IncomingMessage, size: number) {
    request._read = read;
    report();
    read.call(this, size);
  };
}

/** Makes a server that listens nowhere itself look after its time-outs. Node begins that when it listens. */
export function watchTimeouts(server: Server): void {
  server.emit("listening");
}
