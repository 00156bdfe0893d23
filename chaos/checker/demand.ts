import { createHash } from "node:crypto";
import { contentOf } from "../load/content.ts";
import type { RequestLine } from "../record.ts";

/** What the inputs of a call demand of its execution, when nobody interferes. Computed here, in no way by the service. */
export interface Demand {
  readonly end: "success" | "failed" | "timed_out" | "out_of_memory";
  /** A part of the message of an execution that failed. */
  readonly message?: string;
  /** File name to content: text as it must be, JSON as a value. */
  readonly outputs: Readonly<Record<string, { readonly sha256: string } | { readonly json: unknown }>>;
  /** The time its program takes at least, in seconds. */
  readonly secondsMin: number;
  /** Tries of its program that come to an end. */
  readonly tries: number;
}

/** `workflows/` holds the programs whose work this repeats. */
export function demandOf(request: RequestLine): Demand {
  const { token = "", inputs = {} } = request;
  const numbers = (inputs.numbers ?? []) as readonly number[];
  const sum = { json: numbers.reduce((total, number) => total + number, 0) };
  const digest = (...words: string[]) => ({ sha256: sha256(Buffer.from(sha256(Buffer.from(words.join("|"))))) });
  switch (request.workflow) {
    case "tally":
      return {
        end: "success",
        outputs: {
          "sum.json": sum,
          "digest.txt": digest(token, typeof inputs.secret === "string" ? inputs.secret : "", numbers.join(",")),
        },
        secondsMin: Number(inputs.seconds ?? 0),
        tries: 1,
      };
    case "clock":
      return {
        end: "success",
        outputs: { "sum.json": sum, "digest.txt": digest(token, numbers.join(",")) },
        secondsMin: Number(inputs.seconds ?? 0),
        tries: 1,
      };
    case "outward":
      return {
        end: "success",
        outputs: { "sum.json": sum, "digest.txt": digest(token, numbers.join(",")) },
        secondsMin: 0.5,
        tries: 1,
      };
    case "pack":
      return {
        end: "success",
        outputs: { "packed.bin": { sha256: sha256(pack(request)) }, "count.json": { json: request.files?.length } },
        secondsMin: 0,
        tries: 1,
      };
    case "faulty":
      return {
        end: "failed",
        message: `no luck with ${token}`,
        outputs: { "before.txt": { sha256: sha256(Buffer.from(token)) } },
        secondsMin: 0.4,
        tries: 2,
      };
    case "greedy":
      return { end: "out_of_memory", outputs: {}, secondsMin: 0, tries: 1 };
    case "endless":
      if (Number(token.split("-").at(-1)) % 3 === 0) return { end: "success", outputs: {}, secondsMin: 0, tries: 1 };
      return { end: "timed_out", outputs: {}, secondsMin: 2, tries: 1 };
    default:
      throw new Error(`Nobody knows what ${request.workflow} is to do.`);
  }
}

function pack({ token = "", inputs = {}, files = [] }: RequestLine): Buffer {
  return Buffer.concat([
    Buffer.from(`${String(inputs.label)}\n`),
    ...files.flatMap(({ fileName, bytes }, index) => [
      Buffer.from(`${fileName}:${bytes}\n`),
      contentOf(token, index, bytes),
    ]),
  ]);
}

export function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
