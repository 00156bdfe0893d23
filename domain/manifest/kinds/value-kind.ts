import type { CheckBudget } from "../check-budget.ts";
import type { JsonObject, JsonValue } from "../json-values.ts";
import type { ValueInput } from "../manifest.ts";

/** Everything the service, the form and the documents need to know of a kind of input whose value is JSON. */
export interface ValueKind<In extends ValueInput = ValueInput> {
  /** JSON text of a value, for messages. Null where the value is a text: its part of a form needs no quotes. */
  readonly example: string | null;
  /** Whether documents declare its part of a form as `application/json`. */
  readonly structured: boolean;
  /** Decides whether the JSON text of a value says more than JavaScript's value. Null where it never does. */
  readonly keepsText: ((text: string) => boolean) | null;
  /** Whether the default counts as config.yaml writes it (`defaultText`). Documents then show it in words. */
  readonly defaultIsText: boolean;
  /** Returns why a value would not arrive as it was written, given its JSON text. */
  findTextProblem?(text: string): string | undefined;
  /** Returns everything that is wrong with a value that was given. Messages follow the name of the input. */
  check(input: In, value: unknown, budget: CheckBudget): string[];
  /** Returns the JSON schema of its values, as far as JSON Schema can say it. */
  describe(input: In): JsonObject;
  /** Returns the sentences for what the schema cannot say. */
  explain(input: In): string[];
  /** Lists values that may serve as an example, the best first. The default comes before them. */
  listExamples(input: In): JsonValue[];
}
