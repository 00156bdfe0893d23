import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import { installPythonPackages } from "../support/python-packages.ts";
import type { Received } from "./receiver.ts";

/** Returns what a message says, once the standardwebhooks package of npm takes its signature. */
export function verify(secret: string, { text, headers }: Received): Record<string, never> {
  return new Webhook(secret).verify(text, headers as Record<string, string>) as Record<string, never>;
}

/** Says of each message whether the package of PyPI takes it. */
const VERIFIER = `import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def judge(secret, text, headers):
    try:
        return Webhook(secret).verify(text, headers)["type"]
    except WebhookVerificationError as error:
        return str(error)


print(json.dumps([judge(*one) for one in json.load(sys.stdin)]))
`;

/** Returns the type of each message, or why it is refused, by the standardwebhooks package of PyPI. */
export async function verifyInPython(
  messages: readonly (readonly [secret: string, message: Received])[],
): Promise<string[]> {
  const packages = await installPythonPackages(fileURLToPath(new URL("standardwebhooks.txt", import.meta.url)));
  try {
    const input = JSON.stringify(messages.map(([secret, { text, headers }]) => [secret, text, headers]));
    return JSON.parse(execFileSync(join(packages.bin, "python3"), ["-c", VERIFIER], { input, encoding: "utf8" }));
  } finally {
    await packages.remove();
  }
}
