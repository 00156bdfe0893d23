import { randomUUID } from "node:crypto";
import type { Agent } from "undici";
import type { ClientRecord } from "../record.ts";
import type { Published } from "../service.ts";
import { sendRecorded } from "./requests.ts";

/** What this version of the service can do, beyond what every version can. */
export interface Capabilities {
  readonly idempotency: boolean;
  readonly preferences: boolean;
}

/** Asks the service itself, by two calls that are part of the record like all others. */
export async function findCapabilities(deps: {
  record: ClientRecord;
  agent: Agent;
  apiUrl: string;
  tally: Published;
  seed: string;
}): Promise<Capabilities> {
  const { tally, apiUrl } = deps;
  const token = `${deps.seed}-probe`;
  const inputs = { token, numbers: [1, 2, 3], seconds: 0 };
  const idempotencyKey = randomUUID();
  const ask = (prefer?: string) =>
    sendRecorded(
      deps,
      {
        purpose: "execute",
        workflow: "tally",
        token: prefer === undefined ? token : `${token}-prefer`,
        inputs: prefer === undefined ? inputs : { ...inputs, token: `${token}-prefer` },
        files: [],
        ...(prefer === undefined ? { idempotencyKey, isProbe: true } : { prefer }),
      },
      {
        url: `${apiUrl}/workflows/${tally.workflowId}/execute`,
        method: "POST",
        headers: {
          "x-api-key": tally.apiKey,
          ...(prefer === undefined ? { "idempotency-key": idempotencyKey } : { prefer }),
        },
        message: {
          contentType: "application/json",
          body: JSON.stringify(prefer === undefined ? inputs : { ...inputs, token: `${token}-prefer` }),
        },
      },
    );
  const preferred = await ask("respond-async");
  await ask();
  const repeated = await ask();
  return {
    idempotency: repeated.type === "answer" && repeated.headers["idempotent-replayed"] === "true",
    preferences: preferred.type === "answer" && preferred.headers["preference-applied"] !== undefined,
  };
}
