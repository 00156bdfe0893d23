import type { Command } from "commander";
import { isExecutionId } from "../../domain/ids.ts";
import { openPage } from "../start/page.ts";
import { type Act, addCommand } from "./command.ts";
import { requireWorkflow } from "./workflow-names.ts";

/** `open [WF|EX]`: shows a workflow, a run or the service in a browser. */
export function addOpenCommand(program: Command, act: Act): void {
  addCommand(program, "open", "open the service in a browser, or the page of a workflow or an execution")
    .argument("[workflow-or-execution]")
    .option("--account <name>", "the account whose workflow it is")
    .action(
      act<{ account?: string }>(async (context, [what], { account }) => {
        const client = await context.client();
        const path =
          what === undefined
            ? "/"
            : isExecutionId(what)
              ? `/executions/${what}`
              : `/workflows/${await requireWorkflow(client, what, account)}`;
        const url = `${client.url}${path}`;
        openPage(context.io.env, url);
        return { document: { url }, lines: [url] };
      }),
    );
}
