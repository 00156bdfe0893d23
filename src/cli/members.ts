import type { Command } from "commander";
import type { z } from "zod";
import type { MemberList } from "../../domain/api/people.ts";
import type { Role } from "../../domain/members.ts";
import { type Act, addCommand, addGroup, parseRole } from "./command.ts";
import { toTable } from "./io.ts";
import { Refusal } from "./refusal.ts";

type PeopleDocument = z.infer<typeof MemberList>;
type MemberDocument = PeopleDocument["members"][number];
type InvitationDocument = PeopleDocument["invitations"][number];

interface Options {
  readonly account?: string;
}

const MEMBERS = "/api/members";
const INVITATIONS = "/api/invitations";

/** `members list|set-role|sign-in-link|remove` and `invitations create|list|revoke`. */
export function addMemberCommands(program: Command, act: Act): void {
  addPeople(program, act);
  addInvitations(program, act);
}

function addPeople(program: Command, act: Act): void {
  const members = addGroup(program, "members", "who belongs to an account");

  ofAccount(addCommand(members, "list", "list who belongs to the account")).action(
    act<Options>(async (context, _args, query) => {
      const document = await (await context.client()).get<PeopleDocument>(MEMBERS, { query: toQuery(query) });
      const rows = document.members.map((one) => [one.email, one.role, one.userId, one.createdAt, one.lastSeenAt]);
      return {
        document: { members: document.members },
        lines: toTable(["Email", "Role", "User", "Joined", "Last seen"], rows),
      };
    }),
  );

  ofAccount(addCommand(members, "set-role", "change a member's role; their sessions end"))
    .argument("<member>", "the email address, or the user's id")
    .argument("<role>", "owner, member or viewer", parseRole)
    .action(
      act<Options>(async (context, [member = "", role], options) => {
        const client = await context.client();
        const query = toQuery(options);
        const { userId } = choose(await client.get<PeopleDocument>(MEMBERS, { query }), member);
        const document = await client.patch<MemberDocument>(`${MEMBERS}/${userId}`, { query, json: { role } });
        return { document, lines: [`${document.email} is ${document.role} now`] };
      }),
    );

  ofAccount(addCommand(members, "sign-in-link", "make a link for a member who is locked out by others' guesses"))
    .argument("<member>", "the email address, or the user's id")
    .action(
      act<Options>(async (context, [member = ""], options) => {
        const client = await context.client();
        const query = toQuery(options);
        const { userId } = choose(await client.get<PeopleDocument>(MEMBERS, { query }), member);
        const document = await client.post<{ email: string; url: string; expiresAt: string }>(
          `${MEMBERS}/${userId}/sign-in-link`,
          { query, json: {} },
        );
        const lines = [document.url, `For ${document.email}, with the password, until ${document.expiresAt}.`];
        return { document, lines };
      }),
    );

  ofAccount(addCommand(members, "remove", "remove a member; their sessions and tokens end at once"))
    .argument("<member>", "the email address, or the user's id")
    .action(
      act<Options>(async (context, [member = ""], options) => {
        const client = await context.client();
        const query = toQuery(options);
        const { userId, email } = choose(await client.get<PeopleDocument>(MEMBERS, { query }), member);
        const document = await client.delete(`${MEMBERS}/${userId}`, { query });
        return { document, lines: [`${email} belongs to the account no more`] };
      }),
    );
}

function addInvitations(program: Command, act: Act): void {
  const invitations = addGroup(program, "invitations", "links by which others join an account");

  ofAccount(addCommand(invitations, "create", "make a link for a new member; it is shown only once"))
    .argument("<email>")
    .option("--role <role>", "owner, member or viewer", parseRole, "member")
    .action(
      act<Options & { role: Role }>(async (context, [email], { role, ...options }) => {
        const document = await (await context.client()).post<InvitationDocument & { url: string }>(INVITATIONS, {
          query: toQuery(options),
          json: { email, role },
        });
        return { document, lines: [document.url, `Good once, until ${document.expiresAt}, for ${document.email}.`] };
      }),
    );

  ofAccount(addCommand(invitations, "list", "list invitations that can still be accepted")).action(
    act<Options>(async (context, _args, options) => {
      const client = await context.client();
      const { invitations: open } = await client.get<PeopleDocument>(MEMBERS, { query: toQuery(options) });
      const rows = open.map((one) => [one.email, one.role, one.invitationId, one.invitedBy, one.expiresAt]);
      return {
        document: { invitations: open },
        lines: toTable(["Email", "Role", "Invitation", "Invited by", "Until"], rows),
      };
    }),
  );

  ofAccount(addCommand(invitations, "revoke", "take an invitation back"))
    .argument("<invitation>", "its id")
    .action(
      act<Options>(async (context, [id = ""], options) => {
        const client = await context.client();
        const document = await client.delete(`${INVITATIONS}/${encodeURIComponent(id)}`, { query: toQuery(options) });
        return { document, lines: [`Nobody can join by ${id} any more`] };
      }),
    );
}

function ofAccount(command: Command): Command {
  return command.option("--account <name>", "of this account instead of the first");
}

/** Options beside the account are no part of an address. */
function toQuery({ account }: Options): { account: string | undefined } {
  return { account };
}

function choose({ members }: PeopleDocument, wanted: string): MemberDocument {
  const found = members.find(({ userId, email }) => userId === wanted || email.toLowerCase() === wanted.toLowerCase());
  if (found !== undefined) return found;
  throw new Refusal("Not found", `Nobody called ${wanted} belongs to the account. "members list" shows who does.`);
}
