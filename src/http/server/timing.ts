/** Where the time of a request went, for the header Server-Timing. */
export function startTiming() {
  const stages: string[] = [];
  let since = performance.now();
  return {
    /** Ends the stage that was under way. */
    mark(stage: string): void {
      const now = performance.now();
      stages.push(`${stage};dur=${(now - since).toFixed(1)}`);
      since = now;
    },
    toHeader: (): string => stages.join(", "),
  };
}

export type Timing = ReturnType<typeof startTiming>;
