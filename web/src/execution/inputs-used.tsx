import { Text, Title } from "@mantine/core";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { FileIcon } from "../app/icons.tsx";
import classes from "./aside.module.css";
import type { Execution } from "./execution.ts";

/** What went in. Values as they were after defaults; secrets as dots. */
export function InputsUsed({ execution }: { execution: Execution }) {
  const { inputs, inputFiles } = execution;
  const values = Object.entries(inputs);
  const names = [...new Set(inputFiles.map(({ input }) => input))];
  return (
    <section>
      <Title order={2} size="h3" mb="xs">
        Inputs
      </Title>
      {values.length + names.length === 0 && <Text c="dimmed">None were given.</Text>}
      <dl className={classes.inputs}>
        {values.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <InputValue value={value} />
            </dd>
          </div>
        ))}
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            {inputFiles
              .filter(({ input }) => input === name)
              .map(({ position, fileName, bytes }) => (
                <dd key={position} className={classes.file}>
                  <FileIcon />
                  <span>{fileName}</span>
                  <Text span size="sm" c="dimmed">
                    {formatSize(bytes)}
                  </Text>
                </dd>
              ))}
          </div>
        ))}
      </dl>
    </section>
  );
}

function InputValue({ value }: { value: JsonValue }) {
  if (value === null) return <Text c="dimmed">Not given</Text>;
  if (typeof value === "object") return <pre className={classes.json}>{JSON.stringify(value, null, 2)}</pre>;
  return <span className={classes.value}>{String(value)}</span>;
}
