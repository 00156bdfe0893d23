import type { Command } from "commander";
import type { z } from "zod";
import type { Commit, CommitPage, Difference as DifferenceDocument, ShownCommit } from "../../domain/api/commits.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, addGroup, type Context, parseCount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { findHead, makeCommit, workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";

const PAGE_MAX = 100;
const SHORT_CHARACTERS = 12;
/** As the other side of a comparison: what the caller has written and not committed. */
const DRAFT = "draft";
const WHOLE_ID = /^[0-9a-f]{40}$/;

type CommitDocument = z.infer<typeof Commit>;

type Page = z.infer<typeof CommitPage>;

/** `commits list|show|diff|restore`. A commit may be named by the beginning of its id. */
export function addCommitCommands(program: Command, act: Act): void {
  const commits = addGroup(program, "commits", "the commits of a workflow");
  addCommand(commits, "list", "list commits, the newest first")
    .argument("<workflow>")
    .option("-n, --count <count>", "how many, up to 1000", parseCount, 30)
    .action(act<{ count: number }>(listCommits));
  addCommand(commits, "show", "show a commit, the latest unless named, and its files")
    .argument("<workflow>")
    .argument("[commit]")
    .action(act(showCommit));
  addCommand(
    commits,
    "diff",
    'show what differs between two commits, or a commit and your "draft": the latest and the one before unless named',
  )
    .argument("<workflow>")
    .argument("[from]")
    .argument("[to]")
    .action(act(compareCommits));
  addCommand(commits, "restore", "make the files of an earlier commit the latest commit")
    .argument("<workflow>")
    .argument("<commit>")
    .option("-m, --message <text>", "what the new commit says")
    .action(act<{ message?: string }>(restoreCommit));
}

async function listCommits(context: Context, [workflow = ""]: readonly string[], { count }: { count: number }) {
  const client = await context.client();
  const commits: CommitDocument[] = [];
  for await (const commit of walkCommits(client, workflow)) if (commits.push(commit) === count) break;
  const rows = commits.map((commit) => [
    commit.commitId.slice(0, SHORT_CHARACTERS),
    commit.isHead ? "latest" : "",
    context.look.time(commit.createdAt),
    commit.author?.email,
    commit.executions,
    commit.message.split("\n")[0],
  ]);
  return { document: { commits }, lines: toTable(["Commit", "", "Made", "By", "Executions", "Message"], rows) };
}

async function showCommit(context: Context, [workflow = "", commit]: readonly string[]): Promise<Answer> {
  const client = await context.client();
  const commitId = await findCommit(client, workflow, commit);
  const document = await client.get<z.infer<typeof ShownCommit>>(`${workflowPathOf(workflow)}/commits/${commitId}`);
  const { parentId, message, author, createdAt, executions, files } = document;
  const lines = [
    `Commit      ${document.commitId}${document.isHead ? "  (latest)" : ""}`,
    `Before      ${parentId ?? "-"}`,
    `Made        ${createdAt}${author === null ? "" : ` by ${author.email}`}`,
    `Executions  ${executions}`,
    "",
    ...message.split("\n"),
    "",
    ...toTable(
      ["File", "Bytes"],
      files.map((file) => [file.path, file.bytes]),
    ),
  ];
  return { document, lines };
}

async function compareCommits(context: Context, [workflow = "", from, to]: readonly string[]): Promise<Answer> {
  const client = await context.client();
  const after = to === DRAFT ? DRAFT : await findCommit(client, workflow, to);
  const before =
    from === undefined ? await findParent(client, workflow, after) : await findCommit(client, workflow, from);
  const { files } = await client.get<z.infer<typeof DifferenceDocument>>(`${workflowPathOf(workflow)}/diff`, {
    query: { from: before ?? undefined, to: after },
  });
  const { toDifferenceLines } = await import("./difference-lines.ts");
  const lines = files.length === 0 ? ["No file changes."] : toDifferenceLines(files, context.look);
  return { document: { from: before, to: after, files }, lines };
}

async function restoreCommit(
  context: Context,
  [workflow = "", commit = ""]: readonly string[],
  { message }: { message?: string },
): Promise<Answer> {
  const client = await context.client();
  const commitId = await findCommit(client, workflow, commit);
  const made = await makeCommit(context, client, `${workflowPathOf(workflow)}/commits/${commitId}/restore`, {
    expectedHead: await findHead(client, workflow),
    ...(message === undefined ? {} : { message }),
  });
  const lines = [
    made.changed
      ? `Restored ${commitId.slice(0, SHORT_CHARACTERS)} as ${made.commitId}`
      : `Nothing changed: the latest commit has these files already`,
  ];
  return { document: made, lines };
}

async function findParent(client: Client, workflow: string, commitId: string): Promise<string | null> {
  return (await client.get<CommitDocument>(`${workflowPathOf(workflow)}/commits/${commitId}`)).parentId;
}

/** The whole id of a commit; undefined means the latest, and a part the only commit that begins with it. */
export async function findCommit(client: Client, workflow: string, name: string | undefined): Promise<string> {
  if (name !== undefined && WHOLE_ID.test(name)) return name;
  if (name === undefined) {
    const head = await findHead(client, workflow);
    if (head === null) throw new Refusal("Not found", `${workflow} has no commit yet.`);
    return head;
  }
  const found: string[] = [];
  for await (const { commitId } of walkCommits(client, workflow)) if (commitId.startsWith(name)) found.push(commitId);
  const [only, ...others] = found;
  if (only === undefined)
    throw new Refusal("Not found", `${workflow} has no commit ${name}. "commits list" shows them.`);
  if (others.length > 0)
    throw new Refusal("Invalid request", `${found.length} commits begin with ${name}: ${found.join(", ")}. Name one.`);
  return only;
}

async function* walkCommits(client: Client, workflow: string): AsyncGenerator<CommitDocument, void> {
  let cursor: string | undefined;
  do {
    const page: Page = await client.get<Page>(`${workflowPathOf(workflow)}/commits`, {
      query: { limit: String(PAGE_MAX), cursor },
    });
    yield* page.commits;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
