import { z } from "zod";

/** One problem of a request, named by its input. */
export const NamedInputProblem = z
  .object({
    input: z.string().meta({ description: "Empty: the whole request." }),
    message: z.string().meta({ description: "For a person: what is wrong and what to do. May change." }),
  })
  .meta({ component: "InputProblem" });

const Place = z.int().min(1);

const FileFix = z
  .object({
    title: z.string(),
    edits: z.array(
      z.object({ line: Place, column: Place, endLine: Place, endColumn: Place, text: z.string() }).meta({
        description: "Put `text` in the place of what is there, from the first place up to the second one.",
      }),
    ),
  })
  .meta({ description: "What would end it. Only of some warnings; columns count UTF-16 units." });

/** One problem of a published folder, at a place in a file. Lines and columns begin at 1. */
export const FileProblem = z.object({
  file: z.string(),
  line: Place,
  column: Place,
  message: z.string(),
  fix: FileFix.optional(),
});

/** A file's problem in an error. One of a change to a draft names the file as inputs are named, too. */
export const NamedFileProblem = FileProblem.omit({ fix: true })
  .extend({
    input: z
      .string()
      .optional()
      .meta({ description: "Of a change to a draft: the file once more, as inputs are named." }),
  })
  .meta({ component: "FileProblem" });
