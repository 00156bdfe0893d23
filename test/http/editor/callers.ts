import type { AccountId, WorkflowId } from "../../../domain/ids.ts";
import type { Role } from "../../../domain/members.ts";
import { aMember, anAccount, type TestMember } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import type { TestService } from "../service.ts";

/** Somebody who uses the editor: asks its routes, sends them JSON. */
export interface Editor extends TestMember {
  readonly accountId: AccountId;
  call(method: string, path: string, json?: unknown): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, json: unknown): Promise<Answer>;
  patch(path: string, json: unknown): Promise<Answer>;
  put(path: string, json: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  /** Makes a workflow; answers where its routes are. */
  create(name?: string, templateId?: string): Promise<{ workflowId: WorkflowId; path: string }>;
}

/** Member of an account (a new one unless given), signed in with a browser. */
export async function anEditor(
  service: Pick<TestService, "db" | "call">,
  given: { accountId?: AccountId; role?: Role } = {},
): Promise<Editor> {
  const { role = "owner" } = given;
  const accountId = given.accountId ?? (await anAccount(service.db));
  // An account with members keeps an owner.
  if (given.accountId === undefined && role !== "owner") await aMember(service.db, accountId);
  const member = await aMember(service.db, accountId, role);
  const call = (method: string, path: string, json?: unknown, more: Record<string, string> = {}): Promise<Answer> =>
    service.call(`/api/${path}`, {
      method,
      headers: {
        cookie: member.cookie,
        "sec-fetch-site": "same-origin",
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...more,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
  return {
    ...member,
    accountId,
    call: (method, path, json) => call(method, path, json),
    get: (path, headers) => call("GET", path, undefined, headers),
    post: (path, json) => call("POST", path, json),
    patch: (path, json) => call("PATCH", path, json),
    put: (path, json) => call("PUT", path, json),
    delete: (path) => call("DELETE", path),
    async create(name = "A workflow", templateId) {
      const answer = await call("POST", "workflows", { name, ...(templateId === undefined ? {} : { templateId }) });
      const { workflowId } = answer.json() as { workflowId: WorkflowId };
      return { workflowId, path: `workflows/${workflowId}` };
    },
  };
}

export const MANIFEST = `name: Greeter
inputs:
  who: { type: string, default: World } # whom to greet
triggers:
  api: { enabled: true }
`;
export const PROGRAM = "def main(inputs):\n    print(inputs)\n";
/** What a valid workflow is made of. */
export const FILES = [
  { path: "config.yaml", text: MANIFEST },
  { path: "main.py", text: PROGRAM },
];

/** Saves changes on whatever the draft is, and answers its version. */
export async function save(editor: Editor, path: string, changes: readonly object[]): Promise<number> {
  const { version } = (await editor.get(`${path}/draft`)).json() as { version: number };
  const answer = await editor.patch(`${path}/draft`, { version, changes });
  if (answer.status !== 200) throw new Error(answer.text());
  return answer.json()["version"] as number;
}

/** Saves changes and commits the draft. */
export async function commit(
  editor: Editor,
  path: string,
  changes: readonly object[],
  expectedHead: string | null,
  message = "",
) {
  const version = await save(editor, path, changes);
  const answer = await editor.post(`${path}/commits`, { message, version, expectedHead });
  return { ...answer.json(), status: answer.status } as unknown as {
    status: number;
    commitId: string;
    changed: boolean;
    head: string | null;
    buildId: string;
  };
}
