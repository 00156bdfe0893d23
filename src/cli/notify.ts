import type { Command } from "commander";
import type { z } from "zod";
import type {
  AddedPlace,
  ChangedPlace,
  NoticeList,
  PlaceList,
  RemovedPlace,
  RotatedSecret,
  SentNotice,
} from "../../domain/api/notices.ts";
import { PLACE_KINDS } from "../../domain/notices.ts";
import { type Act, addCommand, addGroup, parseCount, parseSeconds } from "./command.ts";
import { toTable } from "./io.ts";
import { readValue } from "./values.ts";

const PLACES = "/api/places";
const NOTICES = "/api/notices";

interface Options {
  readonly account?: string;
}

/** `notify add|list|change|remove|rotate|test|sent|resend`: places that get notices of runs, and what was sent there. */
export function addNotifyCommands(program: Command, act: Act): void {
  const notify = addGroup(program, "notify", "places that are told of runs, and what was sent there");
  const ofAccount = (command: Command): Command =>
    command.option("--account <name>", "of this account instead of the first");

  ofAccount(addCommand(notify, "list", "list the places that can be told")).action(
    act<Options>(async (context, _args, { account }) => {
      const { time } = context.look;
      const document = await (await context.client()).get<z.infer<typeof PlaceList>>(PLACES, { query: { account } });
      const rows = document.places.map((one) => [
        one.name,
        one.kind,
        one.target,
        one.createdBy,
        time(one.createdAt),
        one.disabledAt === null ? "in use" : `disabled: ${one.disabledReason}`,
        one.usedBy.map(({ name }) => name).join(", "),
      ]);
      return { document, lines: toTable(["Name", "Kind", "Target", "By", "Added", "State", "Named by"], rows) };
    }),
  );
  ofAccount(addCommand(notify, "add", "add a place to tell; without a target, that comes from standard input"))
    .argument("<name>")
    .argument("[target]", "an e-mail address or a URL; leave out one that is a secret")
    .requiredOption("--kind <kind>", PLACE_KINDS.join(", "))
    .action(
      act<Options & { kind: string }>(async (context, [name = "", given], { account, kind }) => {
        const target = given ?? (await readValue(context, kind === "email" ? "The e-mail address" : "The URL"));
        const call = { query: { account }, json: { name, kind, target } };
        const document = await (await context.client()).post<z.infer<typeof AddedPlace>>(PLACES, call);
        const { secret } = document;
        if (secret !== null) context.say("Its messages are signed with this secret, which is shown this once:");
        return { document, lines: secret === null ? [`${name} is added`] : [secret] };
      }),
    );
  ofAccount(addCommand(notify, "change", "give a place another target, and use it again"))
    .argument("<name>")
    .argument("[target]", "as that of add")
    .action(
      act<Options>(async (context, [name = "", given], { account }) => {
        const target = given ?? (await readValue(context, "The target"));
        const call = { query: { account }, json: { target } };
        const document = await (await context.client()).put<z.infer<typeof ChangedPlace>>(pathOf(name), call);
        return { document, lines: [`${name} is changed`] };
      }),
    );
  ofAccount(addCommand(notify, "remove", "remove a place that no workflow names any more"))
    .argument("<name>")
    .action(
      act<Options>(async (context, [name = ""], { account }) => {
        const client = await context.client();
        const document = await client.delete<z.infer<typeof RemovedPlace>>(pathOf(name), { query: { account } });
        return { document, lines: [`${name} is removed`] };
      }),
    );
  ofAccount(addCommand(notify, "rotate", "make a new secret for a webhook, which is shown this once"))
    .argument("<name>")
    .option("--grace <time>", "how long messages are signed with the old one, too, such as 1h", parseSeconds, 0)
    .action(
      act<Options & { grace: number }>(async (context, [name = ""], { account, grace }) => {
        const call = { query: { account }, json: { graceSeconds: grace } };
        const client = await context.client();
        const document = await client.post<z.infer<typeof RotatedSecret>>(`${pathOf(name)}/secrets`, call);
        return { document, lines: [document.secret] };
      }),
    );
  addNoticeCommands(notify, act, ofAccount);
}

function addNoticeCommands(notify: Command, act: Act, ofAccount: (command: Command) => Command): void {
  ofAccount(addCommand(notify, "test", "send a test to a place, and say what came of it"))
    .argument("<name>")
    .action(
      act<Options>(async (context, [name = ""], { account }) => {
        const client = await context.client();
        const document = await client.post<z.infer<typeof SentNotice>>(`${pathOf(name)}/test`, { query: { account } });
        const good = document.state === "delivered";
        const lines = [`${name} ${good ? "has it" : "does not have it"}: ${document.answer}`];
        return { document, lines, good };
      }),
    );
  ofAccount(addCommand(notify, "sent", "list what was sent, the newest first"))
    .option("--place <name>", "to this place alone")
    .option("--before <notice>", "those before the one of this id")
    .option("-n, --limit <count>", "at most so many", parseCount, 20)
    .action(
      act<Options & { place?: string; before?: string; limit: number }>(async (context, _args, options) => {
        const { account, place, before, limit } = options;
        const query = { account, place, before, limit: String(limit) };
        const document = await (await context.client()).get<z.infer<typeof NoticeList>>(NOTICES, { query });
        const { time } = context.look;
        const rows = document.notices.map((one) =>
          [
            [
              one.noticeId,
              one.place ?? "Webhook-Url",
              one.kind,
              one.executionId ?? one.workflowId,
              time(one.createdAt),
            ],
            [one.state, one.attempts, one.answer.split("\n")[0]],
          ].flat(),
        );
        return {
          document,
          lines: toTable(["Notice", "Place", "Kind", "About", "Made", "State", "Tries", "Answer"], rows),
        };
      }),
    );
  ofAccount(addCommand(notify, "resend", "send a notice once more, with the same id"))
    .argument("<notice>")
    .action(
      act<Options>(async (context, [id = ""], { account }) => {
        const path = `${NOTICES}/${encodeURIComponent(id)}/send`;
        const client = await context.client();
        const document = await client.post<z.infer<typeof SentNotice>>(path, { query: { account } });
        return { document, lines: [`${id} is on its way`] };
      }),
    );
}

function pathOf(name: string): string {
  return `${PLACES}/${encodeURIComponent(name)}`;
}
