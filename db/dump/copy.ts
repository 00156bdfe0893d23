// Written for pg 8.23.1: its types leave out what its connection can do for COPY, and knex knows nothing of it.
import { once } from "node:events";
import { Readable } from "node:stream";
import type pg from "pg";
import type { Db } from "../connect.ts";

/** Rows come one by one; they are handed on in pieces of this size. */
const PIECE_BYTES = 64 * 1024;

/** What pg's connection can do for COPY; its types leave it out. */
interface CopyConnection {
  readonly stream: NodeJS.ReadWriteStream & { writableNeedDrain: boolean };
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** The one connection of a transaction, as pg has it: knex knows nothing of COPY. */
async function connectionOf(tx: Db): Promise<pg.Client> {
  return (await tx.client.acquireConnection()) as pg.Client;
}

/**
 * What `copy … to stdout` answers, as a stream. Read it to its end before the transaction does anything else. When you
 * give it up before, the rest is read and thrown away.
 */
export async function copyOut(tx: Db, sql: string): Promise<Readable> {
  const client = await connectionOf(tx);
  let connection: CopyConnection | undefined;
  let pieces: Buffer[] = [];
  let bytes = 0;
  const content = new Readable({ read: () => void connection?.stream.resume() });
  const handOn = (): void => {
    const piece = Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
    if (!content.destroyed && piece.length > 0 && !content.push(piece)) connection?.stream.pause();
  };
  content.once("close", () => void connection?.stream.resume());
  client.query({
    submit(given: unknown) {
      connection = given as CopyConnection;
      connection.query(sql);
    },
    handleCopyData({ chunk }: { chunk: Buffer }) {
      // A copy: the parser uses its buffer again.
      pieces.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes >= PIECE_BYTES) handOn();
    },
    handleCommandComplete: handOn,
    handleReadyForQuery: () => void (content.destroyed || content.push(null)),
    handleError: (error: Error) => void content.destroy(withoutDetail(error)),
  } as pg.Submittable);
  return content;
}

/** Sends content to `copy … from stdin`; resolves with the rows when the database has taken all of it. */
export async function copyIn(tx: Db, sql: string, content: AsyncIterable<Buffer>): Promise<number> {
  const client = await connectionOf(tx);
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    let failure: unknown;
    let rows = 0;
    const refuse = (error: unknown): void => {
      over.abort();
      reject(failure ?? error);
    };
    client.query({
      submit: (connection: unknown) => (connection as CopyConnection).query(sql),
      handleCopyInResponse(given: CopyConnection) {
        send(given, content, over.signal).then(
          () => given.endCopyFrom(),
          (error: unknown) => {
            failure = error;
            given.sendCopyFail("The content could not be read.");
          },
        );
      },
      handleCommandComplete({ text }: { text: string }) {
        rows = Number(/\d+$/.exec(text)?.[0] ?? 0);
      },
      handleReadyForQuery: () => resolve(rows),
      handleError: (error: Error) => refuse(withoutDetail(error)),
    } as pg.Submittable);
  });
}

async function send(connection: CopyConnection, content: AsyncIterable<Buffer>, over: AbortSignal): Promise<void> {
  for await (const chunk of content) {
    if (over.aborted) return;
    connection.sendCopyFromChunk(chunk);
    if (connection.stream.writableNeedDrain)
      await once(connection.stream, "drain", { signal: over }).catch((error: unknown) => {
        if (!over.aborted) throw error;
      });
  }
}

/** PostgreSQL's detail and place quote rows; errors end in logs. */
function withoutDetail(error: Error): Error {
  delete (error as { detail?: string }).detail;
  delete (error as { where?: string }).where;
  return error;
}
