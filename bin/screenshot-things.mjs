// What the pictures of the pages show: workflows, commits and executions, made by the calls that the pages make.

/** Calls the service as the page does, and answers what it says. */
export function call(page, path, body, { method = "POST", headers: more = {} } = {}) {
  return page.evaluate(
    async ([address, text, how, others]) => {
      const headers = { "content-type": "application/json", ...others };
      const answer = await fetch(address, text === null ? {} : { method: how, headers, body: text });
      return answer.json();
    },
    [path, body === undefined ? null : JSON.stringify(body), method, more],
  );
}

const FAILING = `import time\n\n\ndef main(name: str = "World") -> dict:\n    for step in range(1, 40):\n        print(f"step {step} of 40 for {name}")\n    raise ValueError("There is no order of that number.")\n`;
const SLOW = `import time\nimport treadle\n\n\ndef main() -> dict:\n    for step in range(1, 600):\n        print(f"step {step}", flush=True)\n        treadle.progress(0.4, "Counting")\n        time.sleep(0.2)\n`;
const SCHEDULED = `name: Every minute\ndescription: Comes by the clock, and by hand\ninputs:\n  name: { type: string, default: World }\ntriggers:\n  api: { enabled: true }\n  schedule: { enabled: true, cron: "* * * * *", timezone: Europe/Berlin }\n`;

/** Makes a workflow with some commits, the last of them made while there was a draft that changes the same file. */
async function writeWorkflow(page) {
  const { workflowId } = await call(page, "/api/workflows", { name: "Every minute" });
  const path = `/api/workflows/${workflowId}`;
  const commit = async (message, changes, expectedHead) => {
    const { version: before } = await call(page, `${path}/draft`);
    const { version } = await call(page, `${path}/draft`, { version: before, changes }, { method: "PATCH" });
    return (await call(page, `${path}/commits`, { message, version, expectedHead })).commitId;
  };
  const files = [
    { path: "config.yaml", text: SCHEDULED },
    { path: "main.py", text: FAILING },
    { path: "orders/read.py", text: "ORDERS = []\n" },
  ];
  const first = await commit("Begin", files, null);
  const second = await commit("Read orders", [{ path: "main.py", text: FAILING.replace("40", "60") }], first);
  const change = { path: "main.py", text: FAILING.replace("40", "80").replace("{name}", "{nmae}") };
  const { version } = await call(page, `${path}/draft`);
  await call(
    page,
    `${path}/draft`,
    {
      version,
      changes: [change, { path: "config.yaml", text: `nmae: x\n${SCHEDULED}` }],
    },
    { method: "PATCH" },
  );
  await call(page, `${path}/commits/${first}/restore`, { expectedHead: second });
  return { workflowId, first, second };
}

/** A workflow that goes on for long enough to be looked at, with a draft that changes much for its callers. */
async function writeSlow(page) {
  const { workflowId } = await call(page, "/api/workflows", { name: "Takes its time" });
  const path = `/api/workflows/${workflowId}`;
  const changes = [
    { path: "config.yaml", text: "triggers:\n  api: { enabled: true }\n" },
    { path: "main.py", text: SLOW },
  ];
  const { version } = await call(page, `${path}/draft`, { version: 0, changes }, { method: "PATCH" });
  await call(page, `${path}/commits`, { message: "Begin", version, expectedHead: null });
  // What was accepted, and would not be by the draft.
  const { executionId } = await call(page, `${path}/execute`, {}, { headers: { prefer: "respond-async" } });
  await call(page, "/api/executions/cancel", { executionIds: [executionId] });
  const { version: next } = await call(page, `${path}/draft`);
  const config = `inputs:\n  limit: { type: integer, required: true }\n${SCHEDULED.slice(SCHEDULED.indexOf("triggers")).replace("Europe/Berlin", "Europe/Berlin, payload: { limit: 3 }")}`;
  await call(
    page,
    `${path}/draft`,
    { version: next, changes: [{ path: "config.yaml", text: config }] },
    { method: "PATCH" },
  );
  return workflowId;
}

const DOCUMENTS = `import json
import zipfile
from pathlib import Path


def main() -> None:
    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    (folder / "report.md").write_text("# Sales\\n\\nUp by **4 %**, see [the source](https://example.org).\\n\\n- Oslo\\n- Bern\\n\\n| city | sales |\\n|---|---|\\n| Oslo | 3 |\\n")
    (folder / "rows.jsonl").write_text("\\n".join(json.dumps({"city": f"City {n}", "sales": n * 7 % 11}) for n in range(8)))
    cells = [
        {"cell_type": "markdown", "source": "## A look at it"},
        {"cell_type": "code", "source": "sum(sales)", "outputs": [{"output_type": "stream", "text": "42\\n"}]},
    ]
    (folder / "study.ipynb").write_text(json.dumps({"nbformat": 4, "cells": cells}))
    with zipfile.ZipFile(folder / "all.zip", "w") as everything:
        everything.writestr("north/sales.csv", "city,sales\\n")
`;

/** A workflow whose outputs are documents. Answers its first run. */
async function executeDocuments(page) {
  const { workflowId } = await call(page, "/api/workflows", { name: "Documents" });
  const path = `/api/workflows/${workflowId}`;
  const changes = [
    { path: "config.yaml", text: "triggers:\n  api: { enabled: true }\n" },
    { path: "main.py", text: DOCUMENTS },
  ];
  const { version } = await call(page, `${path}/draft`, { version: 0, changes }, { method: "PATCH" });
  await call(page, `${path}/commits`, { message: "Begin", version, expectedHead: null });
  return (await call(page, `${path}/execute`, {})).executionId;
}

/** A workflow that needs a package. Answers its only commit, too. */
async function writeWithPackage(page) {
  const { workflowId } = await call(page, "/api/workflows", { name: "Needs a package" });
  const path = `/api/workflows/${workflowId}`;
  const changes = [
    { path: "config.yaml", text: "triggers:\n  api: { enabled: true }\n" },
    { path: "main.py", text: "import six\n\nprint(six.__version__)\n" },
    { path: "requirements.txt", text: "six==1.17.0\n" },
  ];
  const { version } = await call(page, `${path}/draft`, { version: 0, changes }, { method: "PATCH" });
  const { commitId } = await call(page, `${path}/commits`, { message: "Begin", version, expectedHead: null });
  await call(page, `${path}/keys`, { graceSeconds: 86_400 });
  return { workflowId, commitId };
}

/** Runs a workflow with two files, as its form does. */
function executeWithFiles(page, workflowId) {
  return page.evaluate(async (id) => {
    const form = new FormData();
    for (const name of ["north.csv", "south.csv"]) form.append("files", new File(["city,sales\nOslo,3\n"], name));
    const answer = await fetch(`/api/workflows/${id}/execute`, { method: "POST", body: form });
    return (await answer.json()).executionId;
  }, workflowId);
}

/** Secrets and variables of the account, and of one workflow. */
async function setValues(page, workflowId) {
  const put = (path, value) => call(page, path, { value }, { method: "PUT" });
  await put("/api/secrets/WAREHOUSE_PASSWORD", "a first password");
  await put("/api/secrets/WAREHOUSE_PASSWORD", "a second password");
  for (const level of ["info", "debug"]) await put("/api/variables/LEVEL", level);
  await put(`/api/variables/REGION?workflow=${workflowId}`, "eu-central");
  await put(`/api/secrets/API_TOKEN?workflow=${workflowId}`, "a token of one workflow");
}

/** Places of each sort but e-mail, which needs a server. Nothing is sent to this machine itself: the tests come to nothing. */
async function addPlaces(page) {
  for (const [name, kind] of [
    ["ops", "webhook"],
    ["data-team", "slack"],
  ]) {
    await call(page, "/api/places", { name, kind, target: `https://localhost/${name}` });
    await call(page, `/api/places/${name}/test`, {});
  }
}

/** Runs what the pages show: successes, a failure, and one whose log is long. Answers what there is to look at. */
export async function makeThings(page, { workflows }) {
  const execute = async (workflowId, inputs) =>
    (await call(page, `/api/workflows/${workflowId}/execute`, inputs)).executionId;
  for (const name of ["Ada", "Grace", "Linus"]) await execute(workflows.hello.workflowId, { name, times: 3 });
  await execute(workflows.nightly.workflowId, { team: "nobody" });
  const executionId = await execute(workflows.hello.workflowId, { name: "Ada", times: 12, loud: true });
  const written = await writeWorkflow(page);
  const failedId = await execute(written.workflowId, { name: "Ada" });
  const slowId = await writeSlow(page);
  const packaged = await writeWithPackage(page);
  const withFilesId = await executeWithFiles(page, workflows["merge-files"].workflowId);
  const documentsId = await executeDocuments(page);
  const { workflowId: emptyId } = await call(page, "/api/workflows", { name: "Just begun" });
  const { url } = await call(page, "/api/invitations", { email: "vera@treadle.localhost", role: "viewer" });
  await call(page, "/api/tokens", { name: "Laptop", days: 90 });
  await addPlaces(page);
  await setValues(page, workflows.hello.workflowId);
  const joining = new URL(url).pathname + new URL(url).hash;
  return { executionId, failedId, withFilesId, documentsId, emptyId, slowId, packaged, ...written, joining };
}
