import { z } from "zod";

/** One problem of a request, named by its input. */
export const NamedInputProblem = z
  .object({
    input: z.string().meta({ description: "Empty: the whole request." }),
    message: z.string().meta({ description: "For a person: what is wrong and what to do. May change." }),
  })
  .meta({ component: "InputProblem" });

/** One problem of a published folder, at a place in a file. Lines and columns begin at 1. */
export const FileProblem = z.object({
  file: z.string(),
  line: z.int().min(1),
  column: z.int().min(1),
  message: z.string(),
});

/** A file's problem in an error. One of a change to a draft names the file as inputs are named, too. */
export const NamedFileProblem = FileProblem.extend({
  input: z
    .string()
    .optional()
    .meta({ description: "Of a change to a draft: the file once more, as inputs are named." }),
}).meta({ component: "FileProblem" });
