import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "@jest/globals";
import { IS_LONG } from "../support/cluster.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { aPlace } from "../support/place.ts";
import type { Answer, TestService } from "../support/service.ts";
import { aMailServer } from "./mail-server.ts";
import { aReceiver } from "./receiver.ts";

/** Fails where it is told to, and prints a secret input of it. */
export const MAIN = `import sys


def main(fail=False, region="US", password=""):
    print("region", region)
    print("kept from", password, file=sys.stderr)
    if fail:
        raise ValueError("the warehouse is shut")
`;
const INPUTS =
  "inputs:\n  fail: { type: boolean, default: false }\n  region: { type: string, default: US }\n  password: { type: secret, required: false }\n";

export interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
  readonly commitId: string;
}

/** A service that sends notices, with a receiver and a mail server, as its users have it. */
export async function aNoticeService() {
  const receiver = await aReceiver({
    "/moved": { status: 302, headers: { location: "/ops" } },
    "/gone": { status: 410 },
    "/dead": "never",
    "/endless": "endless",
    "/trickle": "trickle",
  });
  const mailServer = await aMailServer();
  const place = await aPlace();
  const { dataDir, query } = place;
  const parent = dirname(dataDir);
  await writeFile(join(parent, "mail-url"), mailServer.url, { mode: 0o600 });
  await writeFile(join(parent, "authority.pem"), mailServer.cert, { mode: 0o644 });
  let service: TestService = await place.start({
    TREADLE_NOTICE_HOSTS: `127.0.0.1:${receiver.port}`,
    TREADLE_WEBHOOK_HOSTS: `127.0.0.1:${receiver.port}`,
    TREADLE_SMTP_URL_FILE: join(parent, "mail-url"),
    TREADLE_SMTP_FROM: "Treadle <treadle@example.test>",
    NODE_EXTRA_CA_CERTS: join(parent, "authority.pem"),
  });

  async function command(args: readonly string[], input = ""): Promise<Record<string, unknown>> {
    const answer = await treadle(dataDir, [...args, "--json"], input);
    expect([args, answer.code, answer.stdout + answer.stderr]).toEqual([args, 0, expect.any(String)]);
    return answer.json();
  }

  async function addPlace(name: string, path = `/${name}`, kind = "webhook"): Promise<string> {
    return String((await command(["notify", "add", name, "--kind", kind], `${receiver.url(path)}\n`))["secret"]);
  }

  async function publish(
    notify: string,
    workflowId?: string,
    main = MAIN,
    triggers = "api: { enabled: true }",
  ): Promise<Workflow> {
    const folder = await aFolder({
      "config.yaml": `name: Load\n${INPUTS}triggers: { ${triggers} }\n${notify}`,
      "main.py": main,
    });
    const given = workflowId === undefined ? [] : ["--workflow", workflowId];
    return (await command(["publish", folder, ...given])) as unknown as Workflow;
  }

  function run({ workflowId, apiKey }: Workflow, inputs: object = {}, headers: object = {}): Promise<Answer> {
    return service.call(`/workflows/${workflowId}/execute`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json", ...headers },
      body: JSON.stringify(inputs),
    });
  }

  /** What a command says that is refused, or does not succeed. */
  async function failing(args: readonly string[], input = ""): Promise<string> {
    const answer = await treadle(dataDir, args, input);
    expect([args, answer.code]).toEqual([args, 1]);
    return answer.stdout + answer.stderr;
  }

  return {
    /** The address of a run's page in a notice: none, unless the service was told what browsers call it. */
    pageOf: (executionId: unknown) => (IS_LONG ? `${service.ready.url}/executions/${String(executionId)}` : null),
    receiver,
    mailServer,
    command,
    addPlace,
    query,
    publish,
    run,
    failing,
    call: (...given: Parameters<TestService["call"]>): Promise<Answer> => service.call(...given),
    /** Kills it, does something, and starts it again, without mail and without hosts that calls may name. */
    async whileDead(act: () => void): Promise<void> {
      await service.stop("SIGKILL");
      act();
      service = await place.start({ TREADLE_NOTICE_HOSTS: `127.0.0.1:${receiver.port}` });
    },
    async close(): Promise<void> {
      await service.stop();
      await receiver.close();
      await mailServer.close();
      await place.remove();
    },
  };
}
