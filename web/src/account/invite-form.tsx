import { Button, Group, NativeSelect, Paper, Stack, TextInput, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { z } from "zod";
import type { Invited } from "../../../domain/api/people.ts";
import { useAct } from "../app/acting.ts";
import { OnceShown } from "../app/copy.tsx";
import { toShort } from "../app/time-text.ts";
import classes from "./forms.module.css";
import { ROLE_CHOICES, ROLE_HELP } from "./role-choices.ts";

type Made = z.infer<typeof Invited>;

/** Makes an invitation. Its address is shown this once, for the owner to hand over. */
export function InviteForm() {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("member");
  const [made, setMade] = useState<Made & { readonly email: string }>();
  const invite = useAct<Made>({
    stale: ["members"],
    refused: "Nobody was invited",
    onDone: (answer) => {
      setMade({ ...answer, email });
      setEmail("");
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    invite.mutate({ path: "/api/invitations", method: "POST", body: { email: email.trim(), role } });
  };
  return (
    <Paper p="md" mt="xl" className={classes.card} component="section" aria-labelledby="invite-title">
      <Title order={2} id="invite-title" mb="sm">
        Invite a member
      </Title>
      <Stack gap="md">
        <form onSubmit={submit}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="Email address"
              type="email"
              required
              flex="1 1 220px"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <NativeSelect
              label="Role"
              title={ROLE_HELP}
              data={ROLE_CHOICES}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value)}
            />
            <Button type="submit" size="sm" loading={invite.isPending}>
              Invite
            </Button>
          </Group>
        </form>
        {made !== undefined && (
          <OnceShown
            label={`Invitation for ${made.email}`}
            value={new URL(made.url, location.href).href}
            description={`Give them this address. It is shown only now, and good until ${toShort(new Date(made.expiresAt))}.`}
          />
        )}
      </Stack>
    </Paper>
  );
}
