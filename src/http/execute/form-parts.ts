import type { Readable } from "node:stream";
import type { FileInfo } from "busboy";
import type { InputProblem } from "../../../domain/errors.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import { safeFileName } from "../../../domain/manifest/file-names.ts";
import type { FileInput, FileListInput, Input, Manifest } from "../../../domain/manifest/manifest.ts";
import { checkUploads, explainSize } from "../../../domain/manifest/uploads.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { TooLargeError } from "../../../storage/storage.ts";
import type { HttpLimits } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { Uploads } from "./uploads.ts";

const CONTENT_TYPE = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/;
const PARSER_COMPLAINTS = ["Unexpected end of form", "Unexpected end of file", "Malformed part header"];
const NAMELESS = "A part of the form has no name. Name each part after an input.";
const JSON_TYPE = "application/json";
export const TEXT_PARTS_MAX = 1_000;

/** A part that is not a file. */
export interface SentText {
  readonly text: string;
  /** It came as `application/json`: it is that, and nothing else. */
  readonly isJson: boolean;
}

export interface Form {
  /** The text parts as sent, by name; also those that no input is declared for. */
  readonly texts: ReadonlyMap<string, SentText>;
  readonly files: readonly StoredFile[];
  /** Names of parts that came as files although no file input is declared for them. Nothing of them was stored. */
  readonly strayFiles: ReadonlySet<string>;
  readonly problems: readonly InputProblem[];
}

interface PartsDeps {
  readonly manifest: Manifest;
  readonly uploads: Uploads;
  readonly limits: HttpLimits;
  /** A text part may name kept files in the place of files. */
  readonly keepsFiles: boolean;
  /** Aborted with the reason when going on is pointless. */
  readonly stop: AbortController;
}

/** Nothing more is stored once it is certain that the form is refused. */
interface Verdict {
  refused: boolean;
  readonly problems: InputProblem[];
}

type Inputs = ReadonlyMap<string, Input>;

/** Takes the parts of a form as they come and says in the end what they were. */
export function collectParts(deps: PartsDeps) {
  const inputs: Inputs = new Map(deps.manifest.inputs.map((input) => [input.name, input]));
  const verdict: Verdict = { refused: false, problems: [] };
  const texts = collectTexts(deps, inputs, verdict);
  const files = collectFiles(deps, inputs, verdict);
  let remainder = 0;
  return {
    takeText: texts.take,
    /** Browsers have no other way than a file to say of a part that it is JSON. */
    takeFile(name: string | undefined, content: Readable, info: FileInfo): void {
      const input = inputs.get(name ?? "");
      const isValue = input !== undefined && !isFileInput(input) && info.mimeType === JSON_TYPE;
      if (isValue) texts.takeContent(input.name, content);
      else files.take(name, content, info);
    },
    /** A part of which nothing else is known, as the parser passes over it. */
    refuse: (message: string): void => complain(verdict, "", message),
    /** Resolves when nothing is on its way to storage or into memory any more, however it went, and what is no file is gone again. */
    async settle(): Promise<void> {
      await Promise.all([texts.settle(), files.settle()]);
    },
    /** How much has been read since the form was found to be refused. */
    countRemainder: (bytes: number): number => (verdict.refused ? (remainder += bytes) : 0),
    toForm: (): Form => ({ texts: texts.values, ...files.toStored(), problems: verdict.problems }),
  };
}

function collectTexts({ limits, stop, keepsFiles }: PartsDeps, inputs: Inputs, verdict: Verdict) {
  const values = new Map<string, SentText>();
  const underWay: Promise<void>[] = [];
  let bytes = 0;
  let count = 0;

  /** False when there is too much of them. */
  function hasRoom(name: string | undefined, size: number): boolean {
    bytes += size;
    if (bytes <= limits.jsonBytesMax) return true;
    const message = `is too long: the text parts of a form are at most ${limits.jsonBytesMax} bytes together. Send large values as files.`;
    stop.abort(refuseInput("payload_too_large", name, message));
    return false;
  }

  /** Its text may still be on its way. False when there is no use for it. */
  function begin(name: string): boolean {
    count += 1;
    if (count > TEXT_PARTS_MAX) stop.abort(tooManyTexts());
    else if (!values.has(name)) return true;
    else complain(verdict, name, "was given twice. Send it once; a list is one part, JSON text.");
    return false;
  }

  async function read(name: string, content: Readable): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of content as AsyncIterable<Buffer>) {
      if (!hasRoom(name, chunk.length)) return;
      chunks.push(chunk);
    }
    const text = decode(Buffer.concat(chunks));
    if (text === undefined) complain(verdict, name, "is not valid UTF-8, and JSON has to be.");
    else values.set(name, { text, isJson: true });
  }

  return {
    values,
    settle: () => Promise.all(underWay),
    /**
     * Takes a text part. The parser has no text for one in a character set that it does not know, although its types
     * say so.
     */
    take(name: string | undefined, text: string | undefined, info: { isCut: boolean; mimeType: string }): void {
      if (text === undefined)
        return complain(verdict, name ?? "", "is in a character set that is not known here. Send it as UTF-8.");
      if (!hasRoom(name, info.isCut ? limits.jsonBytesMax + 1 : Buffer.byteLength(text))) return;
      if (name === undefined) return complain(verdict, "", NAMELESS);
      const input = inputs.get(name);
      const isFile = input !== undefined && isFileInput(input);
      if (isFile && !(keepsFiles && /^\s*[[{]/.test(text)))
        return complain(verdict, name, "is a file. Send it as a part with a file name.");
      if (!begin(name)) return;
      verdict.refused ||= input === undefined;
      values.set(name, { text, isJson: isFile || info.mimeType === JSON_TYPE });
    },
    /** Takes the JSON of an input that came like a file. Nothing of it is stored. */
    takeContent(name: string, content: Readable): void {
      content.on("error", () => undefined);
      if (!begin(name)) return void content.resume();
      values.set(name, { text: "null", isJson: true });
      underWay.push(read(name, content).catch((error: unknown) => stop.abort(explainComplaint(error))));
    },
  };
}

/** Undefined: it is not UTF-8. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    return undefined;
  }
}

export function tooManyTexts(): ApiError {
  return new ApiError("invalid_request", `The form has more than ${TEXT_PARTS_MAX} text parts.`);
}

function collectFiles(deps: PartsDeps, inputs: Inputs, verdict: Verdict) {
  const { limits, stop } = deps;
  const stored: StoredFile[] = [];
  const strayFiles = new Set<string>();
  const underWay: Promise<void>[] = [];
  const counts = new Map<string, number>();
  let count = 0;

  function store(
    input: FileInput | FileListInput,
    content: Readable,
    file: Pick<StoredFile, "name" | "fileName" | "contentType">,
  ): void {
    const bytesMax = Math.min(input.bytesMax, limits.fileBytesMax);
    const place = stored.push({ ...file, storageKey: "", bytes: 0, sha256: "" }) - 1;
    const storing = deps.uploads.put(content, { bytesMax, signal: stop.signal }).then(
      (upload) => {
        stored[place] = { ...file, ...upload };
      },
      (error: unknown) => {
        const tooLarge = error instanceof TooLargeError;
        stop.abort(
          tooLarge
            ? refuseInput("payload_too_large", file.name, explainSize(bytesMax, file.fileName))
            : explainComplaint(error),
        );
      },
    );
    underWay.push(storing);
  }

  return {
    async settle(): Promise<void> {
      await Promise.all(underWay);
      for (const file of stored) if (isEmptyChoice(file)) await deps.uploads.remove(file.storageKey);
    },

    take(name: string | undefined, content: Readable, info: FileInfo): void {
      content.on("error", () => undefined);
      count += 1;
      if (count > limits.filesMax) {
        return stop.abort(
          refuseInput("invalid_request", name, `is one file too many: a request carries at most ${limits.filesMax}.`),
        );
      }
      const input = inputs.get(name ?? "");
      if (name === undefined) complain(verdict, "", NAMELESS);
      else if (input === undefined || !isFileInput(input)) {
        verdict.refused = true;
        strayFiles.add(name);
      } else {
        const contentType = CONTENT_TYPE.test(info.mimeType) ? info.mimeType : "application/octet-stream";
        const file = { name, fileName: (info.filename as string | undefined) ?? "", contentType };
        const before = counts.get(name) ?? 0;
        counts.set(name, before + 1);
        for (const problem of findEarlyProblems(input, file, before)) complain(verdict, name, problem);
        if (!verdict.refused) return store(input, content, file);
      }
      content.resume();
    },

    toStored: () => ({ strayFiles, files: withSafeNames(stored.filter((file) => !isEmptyChoice(file))) }),
  };
}

/** What is wrong with a file before its first byte, so that nothing of it needs to be stored. */
function findEarlyProblems(
  input: FileInput | FileListInput,
  file: { fileName: string; contentType: string },
  before: number,
): string[] {
  if (input.kind === "file" && before === 1) return ["takes one file."];
  if (input.kind === "file_list" && before === input.filesMax) return [`takes at most ${input.filesMax} files.`];
  return file.fileName === "" ? [] : checkUploads(input, [{ ...file, bytes: 0 }]);
}

/** The same is said once: a form may have very many parts of one fault. */
function complain(verdict: Verdict, input: string, message: string): void {
  verdict.refused = true;
  if (verdict.problems.some((problem) => problem.input === input && problem.message === message)) return;
  verdict.problems.push({ input, message });
}

function refuseInput(
  code: "invalid_request" | "payload_too_large",
  input: string | undefined,
  message: string,
): ApiError {
  return new ApiError(code, /^[a-z]/.test(message) ? `${input ?? "A part"} ${message}` : message, {
    details: [{ input: input ?? "", message }],
  });
}

/** A browser sends a file field in which nothing was chosen as an empty part without a file name. */
function isEmptyChoice(file: StoredFile): boolean {
  return file.fileName === "" && file.bytes === 0 && file.storageKey !== "";
}

/** The files under names that can stand beside each other in one folder, those of each input by themselves. */
export function withSafeNames(files: readonly StoredFile[]): StoredFile[] {
  const taken = new Map<string, Set<string>>();
  return files.map((file) => {
    const names = taken.get(file.name) ?? new Set();
    taken.set(file.name, names);
    const fileName = safeFileName(file.fileName, names);
    names.add(fileName);
    return { ...file, fileName };
  });
}

/** What the parser says of a broken form, in our words; any other error as it is. */
export function explainComplaint(error: unknown): unknown {
  const { message } = error as Error;
  if (!PARSER_COMPLAINTS.includes(message)) return error;
  return malformed(message.toLowerCase());
}

/** The answer (400) to a form that cannot be read on. */
export function malformed(reason: string): ApiError {
  return new ApiError("invalid_request", `The form is malformed or was cut off: ${reason}.`);
}
