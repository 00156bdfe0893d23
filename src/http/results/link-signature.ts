import type { Request } from "express";
import { type ExecutionId, isExecutionId } from "../../../domain/ids.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { ApiError } from "../errors.ts";

/** What makes the address of an output file a link: until when it is good, in seconds since 1970, and who says so. */
export function signLink(
  box: Pick<SecretBox, "sign">,
  link: { readonly executionId: ExecutionId; readonly fileName: string; readonly expires: number },
): string {
  const { expires } = link;
  return new URLSearchParams({ expires: String(expires), signature: box.sign(toText(link)) }).toString();
}

/**
 * Returns the execution of a request that comes by a link; undefined for any other request. Throws 401 when the link is
 * not ours, for another file, or expired. A key in the same request does not help then.
 */
export function readLink(box: Pick<SecretBox, "isSignature">, request: Request): ExecutionId | undefined {
  const { expires, signature } = request.query;
  if (expires === undefined && signature === undefined) return undefined;
  const { executionId, fileName } = request.params;
  const isWhole =
    typeof expires === "string" &&
    /^[1-9]\d{0,11}$/.test(expires) &&
    typeof signature === "string" &&
    typeof executionId === "string" &&
    isExecutionId(executionId) &&
    typeof fileName === "string";
  if (!isWhole || !box.isSignature(toText({ executionId, fileName, expires: Number(expires) }), signature))
    throw new ApiError("unauthorized", "This link is not valid. Copy all of it, or ask for a new one.");
  if (Number(expires) * 1000 <= Date.now())
    throw new ApiError("unauthorized", "This link has expired. Ask for a new one.");
  return executionId;
}

function toText({
  executionId,
  fileName,
  expires,
}: {
  executionId: string;
  fileName: string;
  expires: number;
}): string {
  return `file\n${executionId}\n${expires}\n${fileName}`;
}
