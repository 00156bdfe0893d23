const CONFIG = `name: Empty
# Each input is a field of the form and a value of the API. All keys: /docs/manifest
inputs:
  name: { type: string, label: Name, default: World }
triggers:
  api: { enabled: true }
`;

const MAIN = `def main(name):
    print(f"Greeting {name}")               # a line of the log
    return {"greeting": f"Hello, {name}!"}  # the output greeting.txt
`;

/** The least that runs: one input, a line of the log and one output. */
export const EMPTY_TEMPLATE = {
  templateId: "empty",
  name: "Empty",
  description: "One input, one output: a small main.py and config.yaml to build on",
  files: [
    { path: "config.yaml", content: Buffer.from(CONFIG), executable: false },
    { path: "main.py", content: Buffer.from(MAIN), executable: false },
  ],
};
