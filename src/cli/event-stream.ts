import { StringDecoder } from "node:string_decoder";

/** A server-sent event: its name, and its data as JSON. */
export interface ServerEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Reads the server-sent events of a body until its end. Comments, ids and events without data are left out. */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<ServerEvent, void> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of body) {
    const blocks = (rest + decoder.write(chunk)).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = valueOf(block, "data");
      if (data !== undefined) yield { event: valueOf(block, "event") ?? "message", data: JSON.parse(data) as unknown };
    }
  }
}

/** The service writes each field of an event on one line. */
function valueOf(block: string, field: string): string | undefined {
  const start = `${field}: `;
  return block
    .split("\n")
    .find((line) => line.startsWith(start))
    ?.slice(start.length);
}
