import { type Destination, formatEndpoint } from "../../domain/destinations.ts";

/** Who has to know of destinations that are taken away. */
export interface Cuts {
  /** Calls `onCut` once for each of these destinations that is taken away from now on. Returns how to end that. */
  follow(destinations: readonly Destination[], onCut: (destination: Destination) => void): () => void;
  /** Reports that one was taken away; of several ways there, each reports it. */
  report(destination: Destination): void;
}

export function createCuts(): Cuts {
  const followers = new Set<(lost: Destination) => void>();
  return {
    follow(destinations, onCut) {
      const left = new Map(destinations.flatMap((one) => (one.grantId === null ? [] : [[one.grantId, one] as const])));
      const follower = ({ grantId }: Destination) => {
        const lost = left.get(grantId ?? "");
        if (left.delete(grantId ?? "") && lost !== undefined) onCut(lost);
      };
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    report(destination) {
      for (const follower of Array.from(followers)) follower(destination);
    },
  };
}

/** Notes in the log of an execution which of its destinations are taken away meanwhile. Returns how to end that. */
export function noteCuts(
  network: Pick<Cuts, "follow"> | undefined,
  wanted: boolean | readonly Destination[] | undefined,
  log: { note(text: string): void },
): () => void {
  if (typeof wanted !== "object" || network === undefined) return () => undefined;
  return network.follow(wanted, (lost) =>
    log.note(`The destination ${lost.name} (${formatEndpoint(lost)}) was taken away. Connections there are closed.`),
  );
}
