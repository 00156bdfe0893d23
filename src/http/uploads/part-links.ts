import type { Request } from "express";
import { isUploadId, isWorkflowId, type UploadId, type WorkflowId } from "../../../domain/ids.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { ApiError } from "../errors.ts";

/** A part that a link is for. */
export interface LinkedPart {
  readonly workflowId: WorkflowId;
  readonly uploadId: UploadId;
  readonly number: number;
}

/** Returns the address at which this service takes a part without a key, until `expires`, in seconds since 1970. */
export function linkPart(
  { secretBox, apiUrl }: { secretBox: Pick<SecretBox, "sign">; apiUrl: () => string },
  part: LinkedPart,
  expires: number,
): string {
  const query = new URLSearchParams({ expires: String(expires), signature: secretBox.sign(toText(part, expires)) });
  return `${apiUrl()}/workflows/${part.workflowId}/uploads/${part.uploadId}/parts/${part.number}?${query.toString()}`;
}

/** Returns the part that a request may send. Throws 401 when its link is not ours, for another part, or expired. */
export function readPartLink(box: Pick<SecretBox, "isSignature">, request: Request): LinkedPart {
  const { workflowId, uploadId, number } = request.params;
  const { expires, signature } = request.query;
  const isWhole =
    typeof workflowId === "string" &&
    isWorkflowId(workflowId) &&
    typeof uploadId === "string" &&
    isUploadId(uploadId) &&
    typeof number === "string" &&
    /^[1-9]\d{0,4}$/.test(number) &&
    typeof expires === "string" &&
    /^[1-9]\d{0,11}$/.test(expires) &&
    typeof signature === "string";
  if (!isWhole) throw invalidLink();
  const part = { workflowId, uploadId, number: Number(number) };
  if (!box.isSignature(toText(part, Number(expires)), signature)) throw invalidLink();
  if (Number(expires) * 1000 <= Date.now())
    throw new ApiError("unauthorized", "This link has expired. Ask for the missing parts of the upload again.");
  return part;
}

function invalidLink(): ApiError {
  return new ApiError("unauthorized", "This link is not valid. Ask for the missing parts of the upload again.");
}

function toText({ workflowId, uploadId, number }: LinkedPart, expires: number): string {
  return `part\n${workflowId}\n${uploadId}\n${number}\n${expires}`;
}
