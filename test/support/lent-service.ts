import { connect } from "node:net";
import type { ReadyFile } from "../../src/start/ready-file.ts";
import { type Place, queryFrom } from "./place.ts";
import { type CalledService, callService } from "./service.ts";

export interface LentService {
  readonly service: CalledService;
  readonly dataDir: string;
  /** Asks the record around it. */
  readonly query: Place["query"];
  leave(): Promise<void>;
}

/**
 * The service that test files share; `bin/service-lender.mjs` starts it for the first and ends it after the last.
 * Others use it at the same time: a file touches nothing in it but what it has made itself.
 */
export async function borrowService(): Promise<LentService> {
  const port = process.env.TREADLE_TEST_LENDER_PORT;
  if (port === undefined) throw new Error("Nobody lends a service to this tier: see LENT_A_SERVICE in jest.config.js.");
  const socket = connect(Number(port), "127.0.0.1");
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.endsWith("\n")) resolve(text);
    });
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("Whoever lends the service went away.")));
  });
  const lent = JSON.parse(line) as Pick<Place, "dataDir" | "database"> & {
    readonly ready: ReadyFile;
    readonly problem?: string;
  };
  if (lent.problem !== undefined) {
    socket.destroy();
    throw new Error(lent.problem);
  }
  const { hangUp, ...service } = await callService(lent.ready);
  const leave = async () => {
    await hangUp();
    socket.destroy();
  };
  return { service, dataDir: lent.dataDir, query: queryFrom(lent.database), leave };
}
