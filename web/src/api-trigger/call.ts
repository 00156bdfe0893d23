import type { JsonTexts } from "../../../domain/manifest/json-text.ts";
import type { JsonObject, JsonValue } from "../../../domain/manifest/json-values.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";

export const BODIES = ["json", "multipart"] as const;
export type Body = (typeof BODIES)[number];

/** What a snippet is made of. */
export interface Call {
  readonly url: string;
  readonly apiKey: string;
  readonly inputs: readonly Input[];
  /** Values of which it is known that they are accepted, such as a schedule's payload. */
  readonly known?: JsonObject;
  /** The same as JSON texts. */
  readonly knownTexts?: JsonTexts;
  /** A file with the service's own certificate authority; null where every system knows its certificate. */
  readonly caFile: string | null;
}

/** One part of a form that is a file of the reader's. */
export interface FilePart {
  readonly name: string;
  /** A file name that the input accepts; the reader puts in another. */
  readonly file: string;
  readonly contentType: string;
}

/** The body of an example call, in the two forms it can be sent. */
export interface ExampleBody {
  readonly values: readonly (readonly [string, JsonValue])[];
  /** JSON of those values that JavaScript would change, such as digits beyond 2^53. */
  readonly exact: JsonTexts;
  /** The same, as texts of a form. */
  readonly texts: readonly (readonly [string, string])[];
  readonly files: readonly FilePart[];
}
