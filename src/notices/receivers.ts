import { isIP, type LookupFunction } from "node:net";
import type { Agent } from "undici";
import type { Endpoint } from "../../domain/destinations.ts";
import { type ReceiverAddresses, RefusedReceiver } from "./addresses.ts";

/** From looking up the name to the last byte that is read of the answer. */
const TIMEOUT_MS = 10_000;
/** Of an answer; what comes after is not read. */
const ANSWER_BYTES_MAX = 65_536;
/** Of an answer that is kept for people. */
const ANSWER_CHARACTERS_KEPT = 500;

const GONE = 410;

/** What came of one try to send. `gone`: the receiver wants nothing more. `refused`: no try can succeed. */
export interface Delivery {
  readonly kind: "delivered" | "failed" | "gone" | "refused";
  /** For people: what the receiver answered, or what was in the way. */
  readonly answer: string;
}

/** Posts to a receiver of an account to which `granted` is granted at this moment. */
export type PostNotice = (
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>>,
  granted: readonly Endpoint[],
) => Promise<Delivery>;

/**
 * Returns what posts JSON to receivers. A name is resolved when the connection is made. The connection goes to an address that was
 * checked, so a name that changes its address leads nowhere else. No connection is used twice. Redirects are not followed.
 */
export function createPostNotice(addresses: ReceiverAddresses): PostNotice & { close(): Promise<void> } {
  const agents = new Set<Agent>();
  const post: PostNotice = async (url, body, headers, granted) => {
    const problem = addresses.findProblem(url, granted);
    if (problem !== undefined) return { kind: "refused", answer: problem };
    const isAllowed = addresses.isAllowed(url);
    // Loaded by the first notice: its hundred modules would make each start 50 ms longer.
    const { Agent, request } = await import("undici");
    // One for each message: what an account was granted is for its own connection alone.
    const connect = isAllowed ? {} : { lookup: toLookup(addresses, url, granted) };
    const dispatcher = new Agent({ pipelining: 0, connect });
    agents.add(dispatcher);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      // Nobody looks up an address that stands in the URL itself.
      const literal = url.hostname.replace(/^\[(.*)\]$/, "$1");
      if (!isAllowed && isIP(literal) !== 0) await addresses.resolve(url, granted);
      const answer = await request(url, {
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": "treadle-notices", ...headers },
        body,
        dispatcher,
        signal,
      });
      return toDelivery(answer.statusCode, await readStart(answer.body));
    } catch (error) {
      return explainFailure(error, signal.aborted);
    } finally {
      agents.delete(dispatcher);
      void dispatcher.destroy();
    }
  };
  return Object.assign(post, {
    close: async () => void (await Promise.all([...agents].map((agent) => agent.destroy()))),
  });
}

function toLookup(addresses: ReceiverAddresses, url: URL, granted: readonly Endpoint[]): LookupFunction {
  return (host, { all }, answer) => {
    addresses.resolve(url, granted).then(
      (found) => {
        const [first] = found;
        if (all === true) return answer(null, [...found]);
        return first === undefined
          ? answer(new Error(`${host} has no address.`), "")
          : answer(null, first.address, first.family);
      },
      (error: unknown) => answer(error as NodeJS.ErrnoException, ""),
    );
  };
}

/** The beginning of an answer as text. A receiver that goes on and on is cut off. */
async function readStart(body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString("utf8").slice(0, ANSWER_CHARACTERS_KEPT);
}

function toDelivery(status: number, text: string): Delivery {
  // NUL cannot be stored.
  const answer = `${status} ${text.replaceAll("\0", "").trim()}`.trim();
  if (status >= 200 && status < 300) return { kind: "delivered", answer };
  if (status === GONE) return { kind: "gone", answer };
  if (status >= 300 && status < 400)
    return { kind: "failed", answer: `${status}: redirects are not followed. Give the place the address itself.` };
  return { kind: "failed", answer };
}

function explainFailure(error: unknown, isLate: boolean): Delivery {
  if (error instanceof RefusedReceiver) return { kind: "refused", answer: error.message };
  if (isLate) return { kind: "failed", answer: `No answer within ${TIMEOUT_MS / 1000} seconds.` };
  const { code, message } = error as NodeJS.ErrnoException;
  return { kind: "failed", answer: (code === undefined ? message : `${code}: ${message}`).slice(0, 500) };
}
