import type { Request } from "express";
import type { Endpoint } from "../../../domain/destinations.ts";
import { TARGET_CHARACTERS_MAX } from "../../../domain/notices.ts";
import type { Notices } from "../../notices/notices.ts";
import { isSigningSecret } from "../../notices/signature.ts";
import { ApiError } from "../errors.ts";

/** Where a call wants its result, beside the answer. */
export interface WantedResult {
  readonly url: string;
  /** What the message is signed with; null: with nothing. */
  readonly secret: string | null;
}

/**
 * Returns where a call wants its result, by `Webhook-Url` and `Webhook-Secret`; undefined where it does not say. Throws 400 where
 * nothing may be sent there. `listGranted` returns what the account of the call is granted.
 */
export async function readWebhookUrl(
  request: Request,
  rules: Pick<Notices, "addresses" | "callHosts">,
  listGranted: () => Promise<readonly Endpoint[]>,
): Promise<WantedResult | undefined> {
  const [url, secret] = ["Webhook-Url", "Webhook-Secret"].map((name) => readOne(request, name));
  if (url === undefined && secret === undefined) return undefined;
  if (url === undefined) throw refuse("Webhook-Secret signs what goes to Webhook-Url. Send both, or neither.");
  if (url.length > TARGET_CHARACTERS_MAX)
    throw refuse(`Webhook-Url is longer than ${TARGET_CHARACTERS_MAX} characters.`);
  if (!URL.canParse(url)) throw refuse("Webhook-Url is no URL. Give one that begins with https://.");
  const { host, hostname } = new URL(url);
  if (rules.callHosts.length === 0)
    throw refuse("Webhook-Url cannot be used here. The operator can allow hosts with TREADLE_WEBHOOK_HOSTS.");
  if (![host, hostname].some((name) => rules.callHosts.includes(name)))
    throw refuse(`Webhook-Url: ${host} is not allowed. The operator can allow it with TREADLE_WEBHOOK_HOSTS.`);
  const problem = rules.addresses.findProblem(new URL(url), await listGranted());
  if (problem !== undefined) throw refuse(`Webhook-Url: ${problem}`);
  if (secret !== undefined && !isSigningSecret(secret))
    throw refuse("Webhook-Secret must be whsec_ and 24 to 64 bytes in base64, as Standard Webhooks have it.");
  return { url, secret: secret ?? null };
}

function readOne(request: Request, name: string): string | undefined {
  const values = request.headersDistinct[name.toLowerCase()] ?? [];
  if (values.length > 1) throw refuse(`${name} was sent more than once. Send one.`);
  return values[0];
}

function refuse(message: string): ApiError {
  return new ApiError("invalid_request", message);
}
