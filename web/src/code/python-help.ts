import { parseManifest } from "../../../domain/manifest/parse.ts";

/** A name that can be written at a place of a Python file. */
export interface PythonName {
  readonly label: string;
  /** A short word beside it, such as its type. */
  readonly detail: string;
  /** A sentence about it. */
  readonly info: string;
}

/** What the module that programs may import has (`runner/modules/treadle.py`), by what is before the dot. */
const MEMBERS: ReadonlyMap<string, readonly PythonName[]> = new Map(
  Object.entries({
    treadle: [
      {
        label: "progress",
        detail: "(fraction, message)",
        info: "Shows how far the run is, such as 0.4 and “parsing”.",
      },
      { label: "run", detail: "which run this is", info: "Its id, attempt, trigger, workflow, commit and schedule." },
    ],
    "treadle.run": [
      { label: "id", detail: "str", info: "The id of the run: ex_…" },
      { label: "attempt", detail: "int", info: "1, or more with retry." },
      { label: "trigger", detail: "str", info: "“api”, “schedule” or “form”." },
      { label: "workflow", detail: "str", info: "The id of the workflow: wf_…" },
      { label: "commit", detail: "str", info: "The commit that runs." },
      { label: "scheduled_for", detail: "datetime", info: "When the schedule was due. None for other runs." },
      { label: "previous_scheduled_for", detail: "datetime", info: "When it was due before that." },
    ],
  }),
);

const WRITTEN = /(?<!\w)(?:(?<object>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.)?(?<word>[A-Za-z_]\w*)?$/;

/**
 * Returns the names that can be written behind `before`, a part of a line. They are what the module `treadle` has, or the inputs that a
 * `config.yaml` declares. `written` is how many letters of the name are there. Undefined: no names.
 */
export function completePython(
  before: string,
  config: string,
): { readonly written: number; readonly names: readonly PythonName[] } | undefined {
  const { object, word = "" } = WRITTEN.exec(before)?.groups ?? {};
  if (object === undefined && word === "") return undefined;
  const names = object === undefined ? listInputs(config) : MEMBERS.get(object);
  return names === undefined || names.length === 0 ? undefined : { written: word.length, names };
}

function listInputs(config: string): PythonName[] {
  const parsed = parseManifest(config);
  if (!parsed.ok) return [];
  return parsed.manifest.inputs.map(({ name, kind }) => ({
    label: name,
    detail: kind,
    info: "An input of config.yaml. main gets it by this name.",
  }));
}
