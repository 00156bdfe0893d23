import { ActionIcon, Text, Title } from "@mantine/core";
import { layOut, textOf } from "../../../domain/manifest/json-text.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import { Hint } from "../app/hint.tsx";
import { DownloadIcon, FileIcon } from "../app/icons.tsx";
import classes from "./aside.module.css";
import { type Execution, type InputFileLine, lacksInputs } from "./execution.ts";

/** What went in. Values as they were after defaults; secrets as dots; files to be had back for as long as they are kept. */
export function InputsUsed({ execution }: { execution: Execution }) {
  const { executionId, inputs, inputTexts, inputFiles } = execution;
  const areKept = execution.filesRemovedAt == null;
  const values = Object.entries(inputs);
  const names = [...new Set(inputFiles.map(({ input }) => input))];
  return (
    <section>
      <Title order={2} size="h3" mb="xs">
        Inputs
      </Title>
      {values.length + names.length === 0 && (
        <Text c="dimmed">
          {lacksInputs(execution) ? "It was refused before its inputs were read. None are kept." : "None were given."}
        </Text>
      )}
      <dl className={classes.inputs}>
        {values.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <InputValue value={value} text={textOf(inputTexts, name)} />
            </dd>
          </div>
        ))}
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            {inputFiles
              .filter(({ input }) => input === name)
              .map((file) => (
                <dd key={file.position} className={classes.file}>
                  <InputFile file={file} path={areKept ? toPath(executionId, file) : undefined} />
                </dd>
              ))}
          </div>
        ))}
      </dl>
      {names.length > 0 && !areKept && (
        <Text size="sm" c="dimmed" mt="xs">
          {inputFiles.length === 1 ? "The file is no longer kept." : "The files are no longer kept."}
        </Text>
      )}
    </section>
  );
}

function toPath(executionId: string, { input, position }: InputFileLine): string {
  return `/api/executions/${executionId}/inputs/${encodeURIComponent(input)}/${position}`;
}

/** `path` is where it can be had; undefined: nowhere. */
function InputFile({ file, path }: { file: InputFileLine; path: string | undefined }) {
  const { input, fileName, bytes } = file;
  return (
    <>
      <FileIcon />
      <span className={classes.fileName}>{fileName}</span>
      <Text span size="sm" c="dimmed" className={classes.fileSize}>
        {formatBytes(bytes)}
      </Text>
      {path !== undefined && (
        <Hint label="Download">
          <ActionIcon
            component="a"
            href={path}
            download={fileName}
            aria-label={`Download the input ${input}: ${fileName}`}
          >
            <DownloadIcon />
          </ActionIcon>
        </Hint>
      )}
    </>
  );
}

function InputValue({ value, text }: { value: JsonValue; text: string | undefined }) {
  if (value === null) return <Text c="dimmed">Not given</Text>;
  if (text !== undefined || typeof value === "object")
    return <pre className={classes.json}>{layOut(text ?? JSON.stringify(value))}</pre>;
  return <span className={classes.value}>{String(value)}</span>;
}
