import { DEFAULT_BOUNDS } from "./bounds.ts";
import { formatDuration } from "./durations.ts";
import { toStableJson } from "./json-values.ts";
import type { Manifest, NetworkLimit, Output } from "./manifest.ts";
import { formatSize } from "./sizes.ts";

/** What a commit changes of what a workflow gives, and may use. What it takes stands in `findInputChanges`. */
export interface PromiseChange {
  readonly about: "output" | "api" | "limits";
  /** Callers may no longer get what they had. */
  readonly breaking: boolean;
  /** A sentence for people. */
  readonly message: string;
}

/** Outputs, the API trigger and limits that are other ones in `after`. A first commit has promised nothing before. */
export function findPromiseChanges(before: Manifest | null, after: Manifest): PromiseChange[] {
  if (before === null) return [];
  return [
    ...compareOutputs(before.outputs, after.outputs),
    ...compareApi(before.triggers.api?.enabled ?? false, after.triggers.api?.enabled ?? false),
    ...compareLimits(before, after),
  ];
}

function compareOutputs(before: readonly Output[], after: readonly Output[]): PromiseChange[] {
  const tell = (breaking: boolean, message: string): PromiseChange => ({ about: "output", breaking, message });
  const changes: PromiseChange[] = [];
  for (const output of after) {
    const was = before.find(({ name }) => name === output.name);
    if (was === undefined) changes.push(tell(false, `The output ${output.name} is new.`));
    else if (was.required && !output.required)
      changes.push(tell(true, `The output ${output.name} may be missing from now on.`));
  }
  for (const { name } of before) {
    if (after.some((output) => output.name === name)) continue;
    changes.push(tell(true, `The output ${name} is no longer promised.`));
  }
  return changes;
}

function compareApi(was: boolean, is: boolean): PromiseChange[] {
  if (was === is) return [];
  return [
    is
      ? { about: "api", breaking: false, message: "Calls with the API key are accepted." }
      : { about: "api", breaking: true, message: "Calls with the API key are refused (403)." },
  ];
}

function compareLimits(before: Manifest, after: Manifest): PromiseChange[] {
  const tell = (message: string): PromiseChange => ({ about: "limits", breaking: false, message });
  const changes: PromiseChange[] = [];
  const [was, is] = [before.limits, after.limits];
  if (was.timeoutSeconds !== is.timeoutSeconds)
    changes.push(
      tell(
        `An execution may take ${formatDuration(is.timeoutSeconds)} now, no longer ${formatDuration(was.timeoutSeconds)}.`,
      ),
    );
  if (was.memoryBytes !== is.memoryBytes)
    changes.push(
      tell(`It may use ${formatSize(is.memoryBytes)} of memory now, no longer ${formatSize(was.memoryBytes)}.`),
    );
  if (was.cpu !== is.cpu)
    changes.push(tell(`It may use ${is.cpu} cores now, no longer ${was.cpu}: that changes its price.`));
  const { processesDefault, openFilesDefault, scratchBytesDefault } = DEFAULT_BOUNDS;
  const [processesBefore, processes] = [was.processes ?? processesDefault, is.processes ?? processesDefault];
  if (processesBefore !== processes)
    changes.push(tell(`It may have ${processes} processes and threads now, no longer ${processesBefore}.`));
  const [openFilesBefore, openFiles] = [was.openFiles ?? openFilesDefault, is.openFiles ?? openFilesDefault];
  if (openFilesBefore !== openFiles)
    changes.push(tell(`Each of its processes may have ${openFiles} files open now, no longer ${openFilesBefore}.`));
  const [scratchBefore, scratch] = [was.scratchBytes ?? scratchBytesDefault, is.scratchBytes ?? scratchBytesDefault];
  if (scratchBefore !== scratch)
    changes.push(
      tell(`Its scratch folders may hold ${formatSize(scratch)} now, no longer ${formatSize(scratchBefore)}.`),
    );
  if (toStableJson(was.network) !== toStableJson(is.network))
    changes.push(tell(describeNetwork(was.network, is.network)));
  return changes;
}

function describeNetwork(was: NetworkLimit, is: NetworkLimit): string {
  if (typeof is === "object") return `It may connect to these alone now: ${is.to.join(", ")}.`;
  if (is) return "It may reach the internet now.";
  return was === true ? "It may no longer reach the internet." : "It may no longer connect to anything.";
}
