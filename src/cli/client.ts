import { X509Certificate } from "node:crypto";
import { createWriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { checkServerIdentity, createSecureContext, type PeerCertificate, rootCertificates } from "node:tls";
import { Agent, type Dispatcher, request } from "undici";
import { readEvents } from "./event-stream.ts";
import { Refusal, toRefusal } from "./refusal.ts";
import type { ServiceAddress } from "./service.ts";

/** Publishing answers after the environment is built, which may take this long. */
const ANSWER_MS_MAX = 30 * 60_000;
const CONNECT_MS_MAX = 10_000;
const ERRORS_OF_CONNECTING = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_SOCKET",
]);

export interface Call {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: Readable;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface Client {
  readonly url: string;
  /** The parsed answer of any status. */
  call(method: Dispatcher.HttpMethod, path: string, call?: Call): Promise<HttpAnswer>;
  /** The document of a 2xx answer; any other is thrown as a Refusal. */
  get<T>(path: string, call?: Call): Promise<T>;
  post<T>(path: string, call?: Call): Promise<T>;
  put<T>(path: string, call?: Call): Promise<T>;
  patch<T>(path: string, call?: Call): Promise<T>;
  delete<T>(path: string, call?: Call): Promise<T>;
  /** Posts, and passes on what the service says meanwhile; the document of a 2xx answer, any other is thrown as a Refusal. */
  postAndFollow<T>(path: string, call: Call, onLog: (text: string) => void): Promise<T>;
  /** Writes the content of a 2xx answer to a file, over what is there; answers how many bytes. Any other is thrown as a Refusal. */
  save(path: string, file: string): Promise<number>;
  /** The content of a 2xx answer as text, not parsed. One of more than `bytesMax`, and any other answer, is thrown as a Refusal. */
  read(path: string, bytesMax: number): Promise<string>;
  close(): Promise<void>;
}

type Read = (answer: Dispatcher.ResponseData, type: string) => Promise<unknown>;

const readWhole: Read = async ({ body }, type) => parseBody(await body.text(), type);

/**
 * What a connection trusts besides what Node does by itself. To read the roots takes longer (50 to 100 ms) than most calls,
 * so they are read once for a client. Where a service with an authority of its own listens, nothing else can be, so they are left out.
 */
function toTrust({ authorities, local }: ServiceAddress) {
  const [own] = authorities ?? [];
  if (authorities === undefined || own === undefined) return {};
  const isOwnAlone = local !== undefined && signsItself(own);
  return { secureContext: createSecureContext({ ca: [...(isOwnAlone ? [] : rootCertificates), ...authorities] }) };
}

function signsItself(pem: string): boolean {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.checkIssued(certificate);
  } catch {
    return false; // What is wrong with it is said by the connection.
  }
}

/** A connection to one service: where it is, whose certificate it has, and who asks. */
function connect(service: ServiceAddress) {
  const address = service.local?.url ?? service.url;
  const { serverName = null } = service.local ?? {};
  const tls = {
    ...toTrust(service),
    ...(serverName === null
      ? {}
      : { checkServerIdentity: (_host: string, peer: PeerCertificate) => checkServerIdentity(serverName, peer) }),
  };
  const authorization = service.token === undefined ? {} : { authorization: `Bearer ${service.token}` };
  const agent = new Agent({
    connect: { ...tls, timeout: CONNECT_MS_MAX },
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  });

  async function send(
    method: Dispatcher.HttpMethod,
    path: string,
    { query = {}, ...rest }: Call,
    read: Read = readWhole,
  ): Promise<HttpAnswer> {
    const url = new URL(`${address}${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const json = rest.json === undefined ? undefined : JSON.stringify(rest.json);
    const type = json === undefined ? {} : { "content-type": "application/json" };
    try {
      const answer = await request(url, {
        method,
        dispatcher: agent,
        headers: { ...authorization, ...type, ...rest.headers },
        body: json ?? rest.body ?? null,
      });
      return {
        status: answer.statusCode,
        body: await read(answer, String(answer.headers["content-type"] ?? "")),
      };
    } catch (error) {
      throw explain(error, address);
    }
  }

  return { address, send, close: () => agent.close() };
}

/** Speaks to one service. What it sends goes to that service alone: redirects are not followed. */
export function createClient(service: ServiceAddress): Client {
  const { address, send, close } = connect(service);
  const call: Client["call"] = (method, path, options = {}) => send(method, path, options);

  async function postAndFollow<T>(path: string, options: Call, onLog: (text: string) => void): Promise<T> {
    const headers = { accept: "text/event-stream", ...options.headers };
    const { status, body } = await send("POST", path, { ...options, headers }, async (answer, type) => {
      if (!type.startsWith("text/event-stream")) return parseBody(await answer.body.text(), type);
      for await (const { event, data } of readEvents(answer.body)) {
        if (event === "result") return data;
        onLog((data as { text: string }).text);
      }
      throw new Refusal("Unexpected answer", `${address} ended its answer early. Look whether it was published.`);
    });
    if (status < 200 || status > 299 || Object.hasOwn(body as object, "error")) throw toRefusal(status, body);
    return body as T;
  }

  async function getDocument<T>(method: Dispatcher.HttpMethod, path: string, options?: Call): Promise<T> {
    const { status, body } = await call(method, path, options);
    if (status < 200 || status > 299) throw toRefusal(status, body);
    return body as T;
  }

  async function save(path: string, file: string): Promise<number> {
    const { status, body } = await send("GET", path, {}, async (answer, type) => {
      if (answer.statusCode < 200 || answer.statusCode > 299) return readWhole(answer, type);
      const target = createWriteStream(file);
      await pipeline(answer.body, target);
      return target.bytesWritten;
    });
    if (status < 200 || status > 299) throw toRefusal(status, body);
    return body as number;
  }

  async function read(path: string, bytesMax: number): Promise<string> {
    const { status, body } = await send("GET", path, {}, async (answer, type) => {
      if (answer.statusCode < 200 || answer.statusCode > 299) return readWhole(answer, type);
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > bytesMax) throw new Refusal("Too large", `It has more than ${bytesMax} bytes.`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString();
    });
    if (status < 200 || status > 299) throw toRefusal(status, body);
    return body as string;
  }

  return {
    url: service.url,
    call,
    save,
    read,
    postAndFollow,
    get: (path, options) => getDocument("GET", path, options),
    post: (path, options) => getDocument("POST", path, options),
    put: (path, options) => getDocument("PUT", path, options),
    patch: (path, options) => getDocument("PATCH", path, options),
    delete: (path, options) => getDocument("DELETE", path, options),
    close,
  };
}

function parseBody(text: string, contentType: string): unknown {
  if (!/\bjson\b/.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The errors of a connection in words that say what to do; others stay what they are. */
function explain(error: unknown, url: string): unknown {
  const { code = "" } = error as { code?: string };
  if (ERRORS_OF_CONNECTING.has(code)) {
    return new Refusal(
      "Service not running",
      `${url} does not answer (${code}). Is the service running? "npm start" starts it.`,
      { cause: error },
    );
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    const words = `The certificate of ${url} is not trusted (${code}). Set NODE_EXTRA_CA_CERTS to the file of the authority that signed it.`;
    return new Refusal("Certificate not trusted", words, { cause: error });
  }
  return error;
}
