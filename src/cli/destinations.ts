import type { Command } from "commander";
import type { z } from "zod";
import type { AddedDestination, DestinationList, RemovedDestination } from "../../domain/api/destinations.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import { toTable } from "./io.ts";

const PATH = "/api/destinations";

interface Options {
  readonly account?: string;
}

/** `destinations list|add|remove`: private hosts that programs of an account may connect to. */
export function addDestinationCommands(program: Command, act: Act): void {
  const destinations = addGroup(program, "destinations", "private hosts that programs of an account may connect to");
  const ofAccount = (command: Command): Command =>
    command.option("--account <name>", "of this account instead of the first");

  ofAccount(addCommand(destinations, "list", "list what an account has, and which workflows name it")).action(
    act<Options>(async (context, _args, { account }) => {
      const { time } = context.look;
      const client = await context.client();
      const document = await client.get<z.infer<typeof DestinationList>>(PATH, { query: { account } });
      const rows = document.destinations.map((one) => [
        one.name,
        one.endpoint,
        time(one.createdAt),
        one.usedBy.map(({ name }) => name).join(", "),
      ]);
      return { document, lines: toTable(["Name", "Endpoint", "Granted", "Named by"], rows) };
    }),
  );
  ofAccount(addCommand(destinations, "add", "let programs of an account connect there; for the operator"))
    .argument("<name>", "what limits.network.to of config.yaml says")
    .argument("<endpoint>", "a host, an address or a range, with ports: 10.20.0.5:5432")
    .action(
      act<Options>(async (context, [name = "", endpoint = ""], { account }) => {
        const call = { query: { account }, json: { name, endpoint } };
        const document = await (await context.client()).post<z.infer<typeof AddedDestination>>(PATH, call);
        return { document, lines: [`${name} is granted: ${document.endpoint}`] };
      }),
    );
  ofAccount(
    addCommand(destinations, "remove", "take a destination away, from programs that run, too; for the operator"),
  )
    .argument("<name>")
    .action(
      act<Options>(async (context, [name = ""], { account }) => {
        const path = `${PATH}/${encodeURIComponent(name)}`;
        const client = await context.client();
        const document = await client.delete<z.infer<typeof RemovedDestination>>(path, { query: { account } });
        for (const user of document.usedBy)
          context.say(`${user.name} (${user.workflowId}) names it, and does not run now.`);
        return { document, lines: [`${name} is taken away`] };
      }),
    );
}
