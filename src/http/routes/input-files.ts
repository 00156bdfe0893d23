import { IN_PERSON } from "./content.ts";
import { ACCOUNT, EXECUTION_ID, IF_NONE_MATCH } from "./parameters.ts";
import type { Routes } from "./route.ts";
import { FILE_ANSWERS, FILE_PARTS } from "./run-logs.ts";

/** What an execution was given, beside what came out of it. */
export const INPUT_FILE_ROUTES = {
  readInputFile: {
    method: "get",
    path: "/api/executions/{executionId}/inputs/{input}/{position}",
    tag: "Executions",
    summary: "One file that an execution was given, or a part of it",
    description:
      "`inputFiles` of the record has those there are. Browsers save it and do not show it, because its caller chose its type.",
    credentials: IN_PERSON,
    parameters: [
      EXECUTION_ID,
      {
        name: "input",
        in: "path",
        required: true,
        description: "The input that it was given for.",
        schema: { type: "string", minLength: 1 },
      },
      {
        name: "position",
        in: "path",
        required: true,
        description: "Which of the files of that input, from 0.",
        schema: { type: "string", pattern: "^[0-9]{1,6}$" },
      },
      ACCOUNT,
      ...FILE_PARTS,
      IF_NONE_MATCH,
    ],
    answers: FILE_ANSWERS,
    errors: ["unauthorized", "not_found", "range_not_satisfiable", "no_capacity"],
  },
} satisfies Routes;
