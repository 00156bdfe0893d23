/** A remote port that a program sent something to, or tried to. */
export interface Connection {
  /** What the manifest or the operator calls it. Null where nothing but the address is certain. */
  readonly name: string | null;
  /** IPv4. */
  readonly address: string;
  readonly port: number;
  readonly protocol: "tcp" | "udp";
  /** Whole packets, with their headers. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Packets that the router refused. A TCP connection that is refused is one. */
  readonly refused: number;
}

/** What a destination is known by from run to run: its name, or its address, with its port. `note_destinations` writes the same. */
export function destinationOf({ name, address, port, protocol }: Connection): string {
  return `${name ?? address}:${port}/${protocol}`;
}

/** What an attempt connected to, as the kernel counted it: no word of it is the program's. */
export interface Connections {
  /** Those reached first. The number is bounded. */
  readonly destinations: readonly Connection[];
  /** All others together; null where there are none. */
  readonly more: {
    /** Connections, and UDP packets that nobody had answered yet. */
    readonly connections: number;
    readonly sentBytes: number;
    readonly receivedBytes: number;
    readonly refused: number;
  } | null;
}
