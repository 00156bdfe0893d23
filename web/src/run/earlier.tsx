import { Alert } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { Time } from "../app/time.tsx";
import type { Execution } from "../execution/execution.ts";
import { beginValues, type FormFile, type FormValues } from "../form/values.ts";

/** The controls with defaults; or with what went in before: values as they were, files kept. Secrets have to be given again. */
export function beginForm({ inputs }: Manifest, earlier: Execution | undefined): FormValues {
  if (earlier === undefined) return beginValues(inputs);
  const { inputs: given, inputTexts: texts, inputFiles, executionId } = earlier;
  const files = new Map<string, FormFile[]>();
  for (const { input, position, fileName, bytes } of hasFiles(earlier) ? inputFiles : []) {
    const kept: FormFile = { kind: "kept", from: { executionId, input, position }, fileName, bytes };
    files.set(input, [...(files.get(input) ?? []), kept]);
  }
  return beginValues(inputs, given, Object.fromEntries(files), texts);
}

/** Whether the files that went in are still there: they are kept for a time. */
function hasFiles({ filesRemovedAt }: Execution): boolean {
  return filesRemovedAt == null;
}

/** Shows where the values in the form come from. */
export function EarlierNote({ earlier, manifest }: { earlier: Execution; manifest: Manifest }) {
  const hasSecrets = manifest.inputs.some(({ kind }) => kind === "secret");
  const hadFiles = manifest.inputs.some((input) => isFileInput(input)) && earlier.inputFiles.length > 0;
  return (
    <Alert variant="light" color="loom" mb="lg" p="sm">
      Filled in from the{" "}
      <Link to="/executions/$executionId" params={{ executionId: earlier.executionId }}>
        run of <Time at={earlier.createdAt} as="short" />
      </Link>
      .{hadFiles && hasFiles(earlier) && " Its files are kept and need not be sent again."}
      {hadFiles && !hasFiles(earlier) && " Its files are no longer there: choose them again."}
      {hasSecrets && " Secrets are not kept: give them again."}
    </Alert>
  );
}
