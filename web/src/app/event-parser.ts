export interface ServerEvent {
  /** The last id that was sent, with this event or before it. */
  readonly id: string;
  /** `message` when the event has no name. */
  readonly name: string;
  readonly data: string;
}

/** Reads server-sent events out of pieces of text, however they are cut. Gives each event once it is complete. */
export function createEventParser(): (piece: string) => ServerEvent[] {
  let rest = "";
  let id = "";
  let name = "";
  let data: string[] = [];
  const readLine = (line: string): ServerEvent | undefined => {
    if (line === "") {
      const event = data.length === 0 ? undefined : { id, name: name === "" ? "message" : name, data: data.join("\n") };
      name = "";
      data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    else if (field === "event") name = value;
    else if (field === "id") id = value;
    return undefined;
  };
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n/);
    rest = lines.pop() ?? "";
    return lines.flatMap((line) => readLine(line) ?? []);
  };
}
