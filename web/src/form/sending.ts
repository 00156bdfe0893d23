import { textOf, writeObject } from "../../../domain/manifest/json-text.ts";
import { noteStatus } from "../app/api.ts";
import { type ApiError, readError, unreachable } from "../app/api-error.ts";
import type { ReadForm } from "./values.ts";

export interface Started {
  readonly executionId: string;
}

/** Of a form that is being sent. `total` is 0 where the browser does not know. */
export interface Sent {
  readonly bytes: number;
  readonly total: number;
}

/**
 * Sends a form to `path` and answers the execution it began; files as they are, with news of how far they are. Rejects with
 * an `ApiError`, or with the signal's reason when it was aborted. `attemptKey` keeps a second try of the same form from
 * beginning a second execution.
 */
export function sendForm(
  path: string,
  form: ReadForm,
  options: { readonly attemptKey: string; readonly signal: AbortSignal; readonly onSent: (sent: Sent) => void },
): Promise<Started> {
  const { signal, onSent } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const refuse = (error: ApiError): void => reject(error);
    request.open("POST", path);
    request.setRequestHeader("prefer", "respond-async");
    request.setRequestHeader("idempotency-key", options.attemptKey);
    request.upload.addEventListener("progress", ({ loaded, total, lengthComputable }) =>
      onSent({ bytes: loaded, total: lengthComputable ? total : 0 }),
    );
    request.addEventListener("error", () => refuse(unreachable()));
    request.addEventListener("abort", () => reject(signal.reason));
    request.addEventListener("load", () => {
      // What was refused for credits stays in the form, with its files: there is nothing to look at elsewhere.
      const started = request.status === 402 ? undefined : readStarted(request.responseText);
      if (started !== undefined) return resolve(started);
      noteStatus(request.status);
      refuse(readError(request.status, request.responseText));
    });
    signal.addEventListener("abort", () => request.abort(), { once: true });
    const files = Object.values(form.files).flat();
    if (files.some(({ kind }) => kind === "chosen")) request.send(toMultipart(form));
    else {
      request.setRequestHeader("content-type", "application/json");
      request.send(writeObject({ ...form.values, ...keptFiles(form) }, form.texts));
    }
  });
}

/** Reads the execution that an answer names: one that failed has a page, too. */
function readStarted(text: string): Started | undefined {
  try {
    const { executionId } = JSON.parse(text) as { executionId?: unknown };
    return typeof executionId === "string" ? { executionId } : undefined;
  } catch {
    return undefined;
  }
}

function toMultipart({ values, texts, files }: ReadForm): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries(values))
    body.append(name, new Blob([textOf(texts, name) ?? JSON.stringify(value)], { type: "application/json" }));
  for (const [name, list] of Object.entries(files)) {
    for (const file of list) {
      if (file.kind === "chosen") body.append(name, file.file, file.file.name);
      else body.append(name, JSON.stringify({ from: file.from }));
    }
  }
  return body;
}

/** An input of one file takes the reference itself, one of several a list. */
function keptFiles({ files }: ReadForm): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(files).map(([name, list]) => {
      const references = list.flatMap((file) => (file.kind === "kept" ? [{ from: file.from }] : []));
      return [name, references.length === 1 ? references[0] : references];
    }),
  );
}
