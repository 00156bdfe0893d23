import { Button, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JsonObject } from "../../../domain/manifest/json-values.ts";
import type { Input, Manifest } from "../../../domain/manifest/manifest.ts";
import { DownloadIcon } from "../app/icons.tsx";
import { isOwnMachine } from "../app/own-machine.ts";
import { useMayChange } from "../app/session.ts";
import type { Workflow } from "../workflows/workflows.ts";
import classes from "./api-tab.module.css";
import type { Body } from "./call.ts";
import { CopyButton } from "./copy-button.tsx";
import { keysQuery, revealKey, type ServiceDocument, serviceQuery } from "./keys.ts";
import { findKnownValues } from "./known-values.ts";
import { canSendJson, findExampleBody, type Language, listUnknownValues, writeSnippet } from "./snippets.ts";

const LANGUAGES = [
  { value: "curl", label: "curl" },
  { value: "python", label: "Python" },
  { value: "javascript", label: "JavaScript" },
];
const BODIES = [
  { value: "json", label: "JSON" },
  { value: "multipart", label: "Form" },
];
const PLACEHOLDER = "YOUR_API_KEY";
/** What a downloaded certificate authority is called. */
const CA_FILE = "treadle-ca.pem";

/** Programs that call the workflow when they are pasted. The key is shown when it is revealed, and always copied. */
export function SnippetCard(props: {
  readonly workflow: Workflow;
  readonly manifest: Manifest;
  readonly revealed: string | undefined;
}) {
  const { workflow, manifest, revealed } = props;
  const { inputs } = manifest;
  const { known, knownTexts } = findKnownValues(manifest);
  const { workflowId, executeUrl } = workflow;
  const mayChange = useMayChange();
  const { data: keys } = useQuery(keysQuery(workflowId));
  const service = useQuery(serviceQuery);
  const [language, setLanguage] = useState<Language>("curl");
  const [wanted, setWanted] = useState<Body>("json");
  const takesJson = canSendJson(inputs);
  const body = takesJson ? wanted : "multipart";
  const ca = service.data?.ca ?? null;
  const caFile = findCaFile(ca);
  const write = (apiKey: string): string =>
    writeSnippet(language, body, { url: executeUrl, apiKey, inputs, known, knownTexts, caFile });
  return (
    <section className={`${classes.card} ${classes.snippets}`} aria-labelledby="api-snippets">
      <div className={classes.head}>
        <h2 id="api-snippets" className={classes.title}>
          Call it
        </h2>
        <div className={classes.choices}>
          <SegmentedControl
            size="xs"
            aria-label="Language"
            data={LANGUAGES}
            value={language}
            onChange={(value) => setLanguage(value as Language)}
          />
          <SegmentedControl
            size="xs"
            aria-label="Body"
            data={BODIES}
            value={body}
            disabled={!takesJson}
            onChange={(value) => setWanted(value as Body)}
          />
          <CopyButton
            what="Snippet"
            read={async () => write(revealed ?? (mayChange ? await revealKey(workflowId) : PLACEHOLDER))}
          />
        </div>
      </div>
      {/* It can be scrolled with the keyboard, too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={classes.snippet} tabIndex={0} aria-label={`Snippet for ${language}`}>
        {write(revealed ?? keys?.keys[0]?.masked ?? PLACEHOLDER)}
      </pre>
      <SnippetNotes inputs={inputs} known={known} body={body} ca={ca} caFile={caFile} />
    </section>
  );
}

function SnippetNotes(props: {
  readonly inputs: readonly Input[];
  readonly known: JsonObject;
  readonly body: Body;
  readonly ca: ServiceDocument["ca"];
  readonly caFile: string | null;
}) {
  const { inputs, known, body, ca, caFile } = props;
  const unknown = listUnknownValues(inputs, known);
  const files = body === "multipart" ? findExampleBody(inputs).files : [];
  return (
    <div className={classes.notes}>
      {unknown.length > 0 && (
        <Text size="sm">Put in values for {unknown.join(", ")}: no example fits what config.yaml asks of them.</Text>
      )}
      {files.length > 0 && (
        <Text size="sm" c="dimmed">
          It sends {files.map(({ file }) => file).join(", ")} from the folder where it is run. Put in your own names.
        </Text>
      )}
      {!canSendJson(inputs) && (
        <Text size="sm" c="dimmed">
          JSON carries no files, and this workflow needs some: it takes a form.
        </Text>
      )}
      {ca !== null && (
        <div className={classes.ca}>
          <Text size="sm" c="dimmed">
            {caFile === CA_FILE
              ? `The service signed its own certificate. Save its authority as ${CA_FILE} beside the program.`
              : "The service signed its own certificate. The snippets name its authority by a path of this machine. For another machine, download it."}
          </Text>
          <Button variant="default" leftSection={<DownloadIcon size={14} />} onClick={() => saveText(CA_FILE, ca.pem)}>
            {CA_FILE}
          </Button>
        </div>
      )}
      <Text size="sm" c="dimmed">
        A call waits up to five minutes for the result. A longer run returns 202 and the address of its result.
      </Text>
    </div>
  );
}

/** Who has opened this page by a name of the machine itself has the file there; everybody else downloads it. */
function findCaFile(ca: ServiceDocument["ca"]): string | null {
  if (ca === null) return null;
  return isOwnMachine() ? ca.file : CA_FILE;
}

function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-pem-file" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
