import { Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { findVariableNameProblem, VARIABLE_NAME_CHARACTERS_MAX } from "../../../domain/manifest/variable-names.ts";
import { hasRight } from "../../../domain/members.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { toSentence } from "../app/sentence.ts";
import { useSession } from "../app/session.ts";
import { workflowsQuery } from "../workflows/workflows.ts";
import classes from "./set-dialog.module.css";
import { type Kind, type Place, pathOf, type Value, type ValueSet, valuesQuery } from "./values.ts";

const ROWS = 4;

interface Props {
  readonly kind: Kind;
  /** Gets another value. Without it, a new name does. */
  readonly given?: Value;
  /** Of a new name: the workflow that it is for. Without it, the dialog asks. */
  readonly workflowId?: string | undefined;
  readonly onClose: () => void;
}

/** Sets a value: of a new name, or another one of a name that there is. */
export function SetDialog({ kind, given, workflowId, onClose }: Props) {
  const [name, setName] = useState(given?.name ?? "");
  const [chosen, setChosen] = useState(given?.workflowId ?? workflowId ?? "");
  const [value, setValue] = useState(given?.value ?? "");
  const [isTried, setTried] = useState(false);
  const place = { name: name.trim(), workflowId: chosen === "" ? null : chosen };
  const set = useSetValue(kind, place, value, onClose);
  const details = set.error instanceof ApiError ? set.error.details : [];
  const problemOf = (input: string): string | undefined => {
    const found = details.find((problem) => problem.input === input);
    return found && toSentence(found.message);
  };
  const ownProblem = findVariableNameProblem(place.name);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (ownProblem === undefined) set.mutate();
  };
  return (
    <Dialog onClose={onClose} title={given === undefined ? `New ${kind}` : `New value of ${given.name}`}>
      <form onSubmit={submit}>
        <Stack gap="md">
          {given === undefined && (
            <NameField
              kind={kind}
              place={place}
              name={name}
              onChange={setName}
              // What is wrong with the path has no name in the answer.
              problem={isTried ? (ownProblem ?? problemOf("")) : undefined}
            />
          )}
          {given === undefined && workflowId === undefined && <ForField chosen={chosen} onChange={setChosen} />}
          <ValueField
            kind={kind}
            value={value}
            onChange={setValue}
            problem={problemOf("value")}
            isFirst={given !== undefined}
          />
          {details.length === 0 && <Refusal error={set.error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={set.isPending}>
              Set
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** Sends the value. What was sent is not kept once the dialog has gone. */
function useSetValue(kind: Kind, place: Place, value: string, onClose: () => void) {
  const known = useQueryClient();
  return useMutation({
    // As the command line: the line end after a pasted value is not part of it.
    mutationFn: () =>
      callApi<ValueSet>(pathOf(kind, place), { method: "PUT", body: { value: value.replace(/\r?\n$/, "") } }),
    gcTime: 0,
    onSuccess({ name, version, masked }) {
      notifications.show({
        title: `${name} is set`,
        message:
          kind === "secret" && !masked
            ? "It is shorter than 6 bytes, so logs do not mask it."
            : `Attempts that begin from now on get version ${version}.`,
      });
      onClose();
    },
    onSettled: () => known.invalidateQueries({ queryKey: ["values"] }),
  });
}

function NameField(props: {
  readonly kind: Kind;
  readonly place: Place;
  readonly name: string;
  readonly onChange: (name: string) => void;
  readonly problem: string | undefined;
}) {
  const { kind, place, name, onChange, problem } = props;
  const { data: values = [] } = useQuery(valuesQuery(kind));
  const replaced = values.find((value) => value.name === place.name && value.workflowId === place.workflowId);
  return (
    <TextInput
      label="Name"
      description={
        replaced === undefined
          ? "Programs find it in their environment."
          : `It is set already: this makes version ${replaced.version + 1} of it.`
      }
      required
      data-autofocus
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      maxLength={VARIABLE_NAME_CHARACTERS_MAX}
      classNames={{ input: classes.code ?? "" }}
      error={problem}
      value={name}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function ForField({ chosen, onChange }: { chosen: string; onChange: (workflowId: string) => void }) {
  const { role } = useSession();
  const { data: workflows = [] } = useQuery(workflowsQuery());
  const owns = hasRight(role, "own");
  return (
    <NativeSelect
      label="For"
      description={owns ? undefined : "Owners of the account set those of all workflows."}
      required={!owns}
      data={[
        { value: "", label: owns ? "All workflows" : "Choose a workflow", disabled: !owns },
        ...workflows.map(({ workflowId, name }) => ({ value: workflowId, label: name })),
      ]}
      value={chosen}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function ValueField(props: {
  readonly kind: Kind;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly problem: string | undefined;
  /** Whether it is the first field of the form. */
  readonly isFirst: boolean;
}) {
  const { kind, value, onChange, problem, isFirst } = props;
  const [isShown, setShown] = useState(kind === "variable");
  return (
    <div>
      <Textarea
        label="Value"
        description={
          kind === "secret"
            ? "Nobody is shown it again. Several lines are possible; a line end after the last one is left out."
            : "Every member of the account sees it. Several lines are possible."
        }
        required
        data-autofocus={isFirst || undefined}
        rows={ROWS}
        autoComplete="off"
        autoCapitalize="off"
        autoCorrect="off"
        spellCheck={false}
        classNames={{ input: `${classes.code} ${isShown ? "" : classes.hidden}` }}
        error={problem}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {kind === "secret" && (
        <Checkbox
          mt="xs"
          label="Show what is written"
          checked={isShown}
          onChange={(event) => setShown(event.currentTarget.checked)}
        />
      )}
    </div>
  );
}
