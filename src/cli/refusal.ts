/** One problem as the service or a check names it: of a place in a file, or of an input. */
export interface Detail {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly input?: string;
}

/** A command that was understood and refused: exit code 1, and words that say what to do. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  /** The short fixed text of the answer: "Invalid request", "Workflow not found". */
  readonly error: string;
  readonly details: readonly Detail[];
  /** What else the answer said, such as `needed` and `available`, or a build's log. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(
    error: string,
    message: string,
    options: { details?: readonly Detail[]; facts?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.error = error;
    this.details = options.details ?? [];
    this.facts = options.facts ?? {};
  }

  /** The same without one of its facts. */
  withoutFact(name: string): Refusal {
    const facts = Object.fromEntries(Object.entries(this.facts).filter(([each]) => each !== name));
    return new Refusal(this.error, this.message, { details: this.details, facts, cause: this.cause });
  }

  /** The document of `--json`. */
  toDocument(): Record<string, unknown> {
    return { error: this.error, message: this.message, details: this.details, ...this.facts };
  }

  /** Lines for people; places in files in the form that editors and terminals turn into links. */
  toLines(): string[] {
    const { buildLog } = this.facts;
    const log = typeof buildLog === "string" && buildLog !== "" ? [buildLog.trimEnd()] : [];
    return [...log, ...this.details.map(toLine), ...(this.#repeatsDetails() ? [] : [this.message])];
  }

  /** Of wrong inputs the service's message is its details in a row. */
  #repeatsDetails(): boolean {
    const rest = this.details.reduce(
      (text, { input = "", message }) => text.replace(`${input} ${message}`, "").replace(message, ""),
      this.message,
    );
    return this.details.length > 0 && /^\s*(?:And \d+ more\.)?$/.test(rest);
  }
}

/** A problem as people read it. */
export function toLine(detail: Detail): string {
  if (detail.file !== undefined) return `${detail.file}:${detail.line ?? 1}:${detail.column ?? 1} ${detail.message}`;
  return detail.input === undefined || detail.input === "" ? detail.message : `${detail.input}: ${detail.message}`;
}

/** Reads the service's `{ error, message, … }`. An answer of another form (a proxy's page) is named by its status. */
export function toRefusal(status: number, body: unknown): Refusal {
  const { error, message, details, ...facts } = (typeof body === "object" && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  if (typeof error !== "string") {
    return new Refusal(
      "Unexpected answer",
      `The service answered ${status} without saying why. Is TREADLE_URL the address of Treadle?`,
    );
  }
  const text = typeof message === "string" && message !== "" ? message : error;
  return new Refusal(error, text, { details: Array.isArray(details) ? (details as Detail[]) : [], facts });
}
