import { Button, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { z } from "zod";
import type { AddedPlace, ChangedPlace } from "../../../domain/api/notices.ts";
import { PLACE_KINDS, type PlaceKind, TARGET_CHARACTERS_MAX } from "../../../domain/notices.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { toSentence } from "../app/sentence.ts";
import { PLACE_WORDS, type Place, pathOf } from "./notices.ts";
import { ShownSecret } from "./secret-dialog.tsx";

const NAME_CHARACTERS_MAX = 40;

/** Adds a place, or gives one that there is another target. The secret of a new webhook is shown this once. */
export function PlaceDialog({ given, onClose }: { readonly given?: Place; readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<PlaceKind>(given?.kind ?? "webhook");
  const [target, setTarget] = useState("");
  const known = useQueryClient();
  const set = useMutation({
    mutationFn: (): Promise<Partial<z.infer<typeof AddedPlace>>> =>
      given === undefined
        ? callApi<z.infer<typeof AddedPlace>>("/api/places", {
            method: "POST",
            body: { name: name.trim(), kind, target },
          })
        : callApi<z.infer<typeof ChangedPlace>>(pathOf(given.name), { method: "PUT", body: { target } }),
    gcTime: 0,
    onSuccess: ({ secret = null }) => secret === null && onClose(),
    onSettled: () => known.invalidateQueries({ queryKey: ["notices"] }),
  });
  const details = set.error instanceof ApiError ? set.error.details : [];
  const problemOf = (input: string): string | undefined => {
    const found = details.find((problem) => problem.input === input);
    return found && toSentence(found.message);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set.mutate();
  };
  const title = given === undefined ? "New place" : `New target of ${given.name}`;
  if (set.data?.secret) return <ShownSecret name={name.trim()} secret={set.data.secret} onClose={onClose} />;
  return (
    <Dialog onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack gap="md">
          {given === undefined && <NameField name={name} onChange={setName} problem={problemOf("name")} />}
          {given === undefined && (
            <NativeSelect
              label="Kind"
              data={PLACE_KINDS.map((value) => ({ value, label: PLACE_WORDS[value] }))}
              value={kind}
              onChange={(event) => setKind(event.currentTarget.value as PlaceKind)}
            />
          )}
          <TextInput
            label={kind === "email" ? "Address" : "URL"}
            description={
              kind === "email" ? "Of one mailbox." : "Only its host is shown again. It begins with https://."
            }
            required
            data-autofocus={given !== undefined || undefined}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            maxLength={TARGET_CHARACTERS_MAX}
            error={problemOf("target")}
            value={target}
            onChange={(event) => setTarget(event.currentTarget.value)}
          />
          {details.length === 0 && <Refusal error={set.error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={set.isPending}>
              {given === undefined ? "Add" : "Set"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function NameField(props: {
  readonly name: string;
  readonly onChange: (name: string) => void;
  readonly problem: string | undefined;
}) {
  const { name, onChange, problem } = props;
  return (
    <TextInput
      label="Name"
      description="Workflows name it in config.yaml."
      required
      data-autofocus
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      maxLength={NAME_CHARACTERS_MAX}
      error={problem}
      value={name}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
