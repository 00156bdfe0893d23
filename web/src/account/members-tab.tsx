import { ActionIcon, NativeSelect, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../app/acting.ts";
import { confirm } from "../app/confirm.ts";
import { Hint } from "../app/hint.tsx";
import { TrashIcon } from "../app/icons.tsx";
import { type Role, useSession } from "../app/session.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { type Invitation, type Member, membersQuery } from "./account.ts";
import { InviteForm } from "./invite-form.tsx";
import { ROLE_CHOICES, ROLE_WORDS } from "./role-choices.ts";

/** Who belongs to the account, and who is asked to. */
export function MembersTab() {
  const { role } = useSession();
  const found = useQuery(membersQuery);
  if (found.isPending) return <LoadingRows label="The members are loading" />;
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  const { members, invitations } = found.data;
  const owns = role === "owner";
  return (
    <>
      <Title order={2} mb="xs">
        Members
      </Title>
      <Members members={members} owns={owns} />
      {invitations.length > 0 && (
        <>
          <Title order={2} mt="xl" mb="xs">
            Invitations
          </Title>
          <Invitations invitations={invitations} owns={owns} />
        </>
      )}
      {owns && <InviteForm />}
      {!owns && (
        <Text size="sm" c="dimmed" mt="md">
          Owners of the account invite members and choose their roles.
        </Text>
      )}
    </>
  );
}

function Members({ members, owns }: { members: readonly Member[]; owns: boolean }) {
  return (
    <div className={tables.frame}>
      <table className={tables.table}>
        <thead>
          <tr>
            <th scope="col">Email address</th>
            <th scope="col">Role</th>
            <th scope="col" className={tables.wide}>
              Last seen
            </th>
            {owns && (
              <th scope="col">
                <span className="unseen">Remove</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow key={member.userId} member={member} owns={owns} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MemberRow({ member, owns }: { member: Member; owns: boolean }) {
  const { userId, email, role, lastSeenAt } = member;
  const session = useSession();
  const change = useAct({ stale: ["members"], refused: "The role was not changed" });
  const remove = useAct({ stale: ["members"], refused: "The member was not removed" });
  const path = `/api/members/${userId}`;
  const isSelf = session.userId === userId;
  return (
    <tr>
      <th scope="row" className={tables.breaks}>
        {email}
        {isSelf && (
          <Text span c="dimmed">
            {" "}
            (you)
          </Text>
        )}
      </th>
      <td className={tables.narrow}>
        {owns ? (
          <NativeSelect
            size="xs"
            w={104}
            aria-label={`Role of ${email}`}
            data={ROLE_CHOICES}
            value={role}
            disabled={change.isPending}
            onChange={(event) =>
              change.mutate({ path, method: "PATCH", body: { role: event.currentTarget.value as Role } })
            }
          />
        ) : (
          ROLE_WORDS[role]
        )}
      </td>
      <td className={`${tables.wide} ${tables.dimmed}`}>{lastSeenAt === null ? "Never" : <Time at={lastSeenAt} />}</td>
      {owns && (
        <td className={tables.narrow}>
          <Hint label="Remove">
            <ActionIcon
              aria-label={`Remove ${email}`}
              onClick={() =>
                confirm({
                  title: isSelf ? "Leave the account?" : `Remove ${email}?`,
                  text: isSelf
                    ? "Your sessions and access tokens end at once. What you made stays in the account."
                    : "Their sessions and access tokens end at once. What they made stays in the account.",
                  yes: isSelf ? "Leave" : "Remove",
                  act: () => remove.mutate({ path, method: "DELETE" }),
                })
              }
            >
              <TrashIcon />
            </ActionIcon>
          </Hint>
        </td>
      )}
    </tr>
  );
}

function Invitations({ invitations, owns }: { invitations: readonly Invitation[]; owns: boolean }) {
  const revoke = useAct({ stale: ["members"], refused: "The invitation was not revoked" });
  return (
    <div className={tables.frame}>
      <table className={tables.table}>
        <thead>
          <tr>
            <th scope="col">Email address</th>
            <th scope="col">Role</th>
            <th scope="col" className={tables.wide}>
              Expires
            </th>
            {owns && (
              <th scope="col">
                <span className="unseen">Revoke</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {invitations.map(({ invitationId, email, role, expiresAt }) => (
            <tr key={invitationId}>
              <th scope="row" className={tables.breaks}>
                {email}
              </th>
              <td>{ROLE_WORDS[role]}</td>
              <td className={`${tables.wide} ${tables.dimmed}`}>
                <Time at={expiresAt} />
              </td>
              {owns && (
                <td className={tables.narrow}>
                  <ActionIcon
                    aria-label={`Revoke the invitation of ${email}`}
                    onClick={() => revoke.mutate({ path: `/api/invitations/${invitationId}`, method: "DELETE" })}
                  >
                    <TrashIcon />
                  </ActionIcon>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
