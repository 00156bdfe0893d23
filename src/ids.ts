import { randomBytes } from "node:crypto";
import type { AccountId, ExecutionId, UploadId, WorkflowId } from "../domain/ids.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Crockford's base 32 in lower case: url-safe, no letters that look like digits. 16 bytes become 26 characters. */
function base32(bytes: Uint8Array): string {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  let text = "";
  for (let left = Math.ceil((bytes.length * 8) / 5); left > 0; left -= 1) {
    text = (ALPHABET[Number(bits & 31n)] as string) + text;
    bits >>= 5n;
  }
  return text;
}

/** Begins with 48 bits of time, so that new rows land beside each other in the indexes; the other 80 bits are random. */
export function createExecutionId(now: number = Date.now()): ExecutionId {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  return `ex_${base32(bytes)}` as ExecutionId;
}

/** 128 random bits: a workflow id must be unguessable. */
export function createWorkflowId(): WorkflowId {
  return `wf_${base32(randomBytes(16))}` as WorkflowId;
}

/** 128 random bits, as of a workflow. */
export function createUploadId(): UploadId {
  return `up_${base32(randomBytes(16))}` as UploadId;
}

export function createAccountId(): AccountId {
  return `acct_${base32(randomBytes(16))}` as AccountId;
}

export function createUserId(): string {
  return `usr_${base32(randomBytes(16))}`;
}

/** Names a commit that is being made. */
export function createBuildId(): string {
  return `bld_${base32(randomBytes(16))}`;
}

/** New with every start of a process; tells its attempts from those of a process before it. */
export function createProcessId(): string {
  return `proc_${base32(randomBytes(10))}`;
}

/** Names a data folder for ever: the host of spooled outputs. */
export function createHostId(): string {
  return base32(randomBytes(10));
}
