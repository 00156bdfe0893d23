import { z } from "zod";
import { PATH_BYTES_MAX } from "../file-path.ts";
import { StorableText } from "./fields.ts";

/** The largest script that can be read, in characters. */
const SCRIPT_CHARACTERS_MAX = 200_000;

/** A Python file that a workflow is to be made of. */
export const Script = z.strictObject({
  name: StorableText.min(1)
    .max(PATH_BYTES_MAX)
    .regex(/^[^/\\]+\.py$/, "must be the name of a .py file, without folders")
    .describe("Its file name."),
  text: z.string().max(SCRIPT_CHARACTERS_MAX),
});

/** The files of the workflow that a script makes, the script among them. Nothing is stored. */
export const ScriptFolder = z.object({
  files: z.array(z.object({ path: z.string(), text: z.string() })),
  notes: z.array(z.string()).meta({ description: "What could not be found out, or is worth a look, in words." }),
});
