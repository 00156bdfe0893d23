import { errorAnswer } from "../../../domain/api/errors.ts";
import { NamedExecutionId } from "../../../domain/api/fields.ts";
import { NamedRole } from "../../../domain/api/people.ts";
import { NamedFileProblem, NamedInputProblem } from "../../../domain/api/problems.ts";
import { Accepted, Execution, Link, Success, Validity } from "../../../domain/api/results.ts";
import {
  NamedListedTick,
  NamedNextRun,
  NamedTick,
  Schedule,
  TickPage,
  Timetable,
} from "../../../domain/api/schedules.ts";
import { Readiness } from "../../../domain/api/service.ts";
import { Session } from "../../../domain/api/session.ts";
import { ERROR_TEXT, type ErrorCode } from "../../../domain/errors.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { ANY_OBJECT, toComponent } from "./content.ts";

/** Returns a reference to a component of the documents by its name. */
export function refer(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Returns the name of an error's component: `invalid_request` is `InvalidRequest`. */
export function nameError(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

/** Each has its name as `component`. */
const NAMED = [
  NamedExecutionId,
  Success,
  Accepted,
  Execution,
  NamedInputProblem,
  NamedFileProblem,
  Validity,
  NamedListedTick,
  NamedNextRun,
  NamedTick,
  Schedule,
  TickPage,
  Timetable,
  Link,
  Session,
  NamedRole,
  Readiness,
];

/** Everything that several answers share. Answers may get more fields; callers leave out what they do not know. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  WorkflowInputs: {
    ...ANY_OBJECT,
    description:
      'Input names and values, as the workflow declares them; at most 1 MiB and 64 levels. `{"inputs": {…}}` is read as the same.',
  },
  WorkflowForm: {
    ...ANY_OBJECT,
    description: "A part for each input. One with a file name is a file, other parts are JSON text or plain text.",
  },
  ...Object.fromEntries(NAMED.map((schema) => [String(schema.meta()?.["component"]), toComponent(schema)])),
  ...Object.fromEntries(
    (Object.keys(ERROR_TEXT) as ErrorCode[]).map((code) => [nameError(code), toComponent(errorAnswer(code))]),
  ),
};
