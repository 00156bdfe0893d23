const REPORT_INTERVAL_MS = 10_000;

export interface ProgressWords {
  readonly report: (line: string) => void;
  /** Such as "Installing bubblewrap with apt-get". */
  readonly what: string;
  /** Such as "10 to 60 s". */
  readonly usual: string;
}

/** Does `work`; says what is being done, and every ten seconds how long it has taken and how long it usually takes. */
export async function withProgress<T>({ report, what, usual }: ProgressWords, work: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  report(`${what} (usually ${usual}) …`);
  const timer = setInterval(() => {
    report(`${what}: ${Math.round((Date.now() - startedAt) / 1000)} s so far, usually ${usual} …`);
  }, REPORT_INTERVAL_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
