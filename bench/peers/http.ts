import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ProgramName } from "./peer.ts";
import type { Serving } from "./served.ts";

/** Serves on a free port of the loopback interface. */
export async function listen(listener: RequestListener): Promise<Serving> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/run`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Serves `run` as plainly as Node.js can. */
export function serveJson(run: (program: ProgramName, value: string) => Promise<string>): Promise<Serving> {
  return listen((request, response) => {
    const answer = async (): Promise<void> => {
      const { program, value } = JSON.parse(await text(request)) as { program: ProgramName; value: string };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ answer: await run(program, value) }));
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
}
