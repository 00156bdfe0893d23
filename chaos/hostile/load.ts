import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, request } from "undici";
import type { Random } from "../random.ts";
import type { Published, Service } from "../service.ts";
import { PROGRAM_ATTACKS, type ProgramAttack } from "./attacks.ts";

/** The account of the hostile tenant; the others' runs are the honest ones. */
const ACCOUNT = "hostile";
const CREDITS = 100_000;
/** Between two attacks: long enough for one to be at work when the next begins. */
const REST_SECONDS = [1, 6] as const;
const ANSWER_MAX_MS = 20_000;

export interface HostileWorkflow {
  readonly attack: ProgramAttack;
  readonly published: Published;
}

/** Publishes each attack as a workflow of the hostile tenant's own account. */
export async function publishAttacks(service: Service, folder: string): Promise<HostileWorkflow[]> {
  await service.createAccount(ACCOUNT, CREDITS);
  await mkdir(folder, { recursive: true });
  const workflows: HostileWorkflow[] = [];
  for (const attack of PROGRAM_ATTACKS) {
    const own = await mkdtemp(join(folder, "attack-"));
    for (const [name, content] of Object.entries(attack.files)) await writeFile(join(own, name), content);
    workflows.push({ attack, published: await service.publish(own, ACCOUNT) });
  }
  return workflows;
}

/**
 * Starts one attack after the other until `isOver`, as many executions of each as it says. Nothing of it is recorded: what
 * becomes of a hostile run is its tenant's business, as long as it ends and its bill is exact.
 */
export async function runHostile(
  deps: { readonly agent: Agent; readonly apiUrl: string },
  load: { readonly random: Random; readonly workflows: readonly HostileWorkflow[]; readonly isOver: () => boolean },
): Promise<void> {
  while (!load.isOver()) {
    const { attack, published } = load.random.pick([...load.workflows]);
    await Promise.all(Array.from({ length: attack.executions }, () => begin(deps, published)));
    await sleep(load.random.between(...REST_SECONDS) * 1000);
  }
}

/** A service that is down at the moment gets one attack less. */
async function begin(
  { agent, apiUrl }: { agent: Agent; apiUrl: string },
  { workflowId, apiKey }: Published,
): Promise<void> {
  try {
    const answer = await request(`${apiUrl}/workflows/${workflowId}/execute`, {
      dispatcher: agent,
      method: "POST",
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
      headers: { "x-api-key": apiKey, "content-type": "application/json", prefer: "respond-async" },
      body: "{}",
    });
    await answer.body.dump();
  } catch {
    // Nobody listened, or the connection broke.
  }
}
