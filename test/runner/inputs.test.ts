import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { INPUT_KINDS } from "../../domain/manifest/declared-kinds.ts";
import { type Bench, jsonOf, openBench } from "./harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("main, with an input of every kind, gets each as its Python type", async () => {
  const ran = await bench.run({
    code: `
def main(name, notes, amount, count, yes, region, tags, day, at, data, token, absent):
    values = dict(locals())
    return {"result": {key: [type(value).__name__, str(value)] for key, value in values.items()}}
`,
    inputs: {
      name: "Ada – ü 🎈",
      notes: "two\nlines",
      amount: 2.5,
      count: 7,
      yes: true,
      region: "EU",
      tags: ["a", "b"],
      day: "2026-02-28",
      at: "2026-02-28T10:20:30.25Z",
      data: { deep: [1, null, { x: "y" }] },
      token: "s3cret",
    },
    kinds: {
      name: "string",
      notes: "text",
      amount: "number",
      count: "integer",
      yes: "boolean",
      region: "select",
      tags: "multi_select",
      day: "date",
      at: "datetime",
      data: "json",
      token: "secret",
      absent: "string",
    },
  });
  expect(ran.outcome).toMatchObject({ status: "success", message: "" });
  expect(jsonOf(ran)).toEqual({
    name: ["str", "Ada – ü 🎈"],
    notes: ["str", "two\nlines"],
    amount: ["float", "2.5"],
    count: ["int", "7"],
    yes: ["bool", "True"],
    region: ["str", "EU"],
    tags: ["list", "['a', 'b']"],
    day: ["date", "2026-02-28"],
    at: ["datetime", "2026-02-28 10:20:30.250000+00:00"],
    data: ["dict", "{'deep': [1, None, {'x': 'y'}]}"],
    token: ["str", "s3cret"],
    absent: ["NoneType", "None"],
  });
});

test("main, with files, gets paths to read-only files under their own names", async () => {
  const ran = await bench.run({
    code: `
def main(orders, pages):
    try:
        orders.write_text("changed")
        changed = True
    except OSError:
        changed = False
    return {"result": [type(orders).__mro__[-2].__name__, orders.name, orders.read_text(), changed,
                       [(page.name, page.parent.name, page.read_text()) for page in pages]]}
`,
    files: [
      { input: "orders", files: [{ fileName: "my orders ü.csv", content: "a,b" }] },
      {
        input: "pages",
        list: true,
        files: [
          { fileName: "1.txt", content: "one" },
          { fileName: "my orders ü.csv", content: "two" },
        ],
      },
    ],
  });
  expect(jsonOf(ran)).toEqual([
    "PurePath",
    "my orders ü.csv",
    "a,b",
    false,
    [
      ["1.txt", "inputs", "one"],
      ["my orders ü.csv", "pages", "two"],
    ],
  ]);
});

test("a script, with inputs, finds them in inputs.json and its files under inputs/", async () => {
  const ran = await bench.run({
    code: `
import json, sys
inputs = json.load(open("inputs.json"))
print(__name__, len(sys.argv), open("data.csv").read(), inputs["name"], open(inputs["orders"]).read(), inputs["absent"])
open("scratch.txt", "w").write("beside the code")
open("outputs/report.txt", "w").write("made by a script")
`,
    commit: { "data.csv": "1;2", "inputs.json": "{}", "outputs/old.txt": "checked in" },
    inputs: { name: "Ada" },
    kinds: { name: "string", absent: "string" },
    files: [{ input: "orders", files: [{ fileName: "orders.csv", content: "x" }] }],
  });
  expect(ran.stdout).toBe("__main__ 1 1;2 Ada x None");
  expect(ran.texts).toEqual({ report: "made by a script" });
});

test("main, with JSON as it was sent, gets what json.loads makes of it, and inputs.json has the same text", async () => {
  const sent = '{"z": 9007199254740993,\r\n "1": 1.0, "a": [12345678901234567890, 0.10, "\\u00e9\\n"]}';
  const code = `
import json
def main(data, name):
    text = open("inputs.json", newline="").read()
    assert data == json.loads(text)["data"], data
    return {"result": [json.dumps(data), name, text]}
`;
  const given = { inputs: { data: JSON.parse(sent) as string, name: "Ada" }, inputTexts: { data: sent } };
  const parsed = '{"z": 9007199254740993, "1": 1.0, "a": [12345678901234567890, 0.1, "\\u00e9\\n"]}';
  expect(jsonOf(await bench.run({ code, ...given }))).toEqual([parsed, "Ada", `{"data":${sent},"name":"Ada"}`]);
});

test("main, taking only some of the declared inputs, gets those, and the log says which it does not take", async () => {
  const ran = await bench.run({
    code: "def main(a, *, b=5):\n    return [a, b]",
    inputs: { a: 1, c: 3 },
  });
  expect(jsonOf(ran)).toEqual([1, 5]);
  expect(ran.stderr).toBe("treadle: main() has no parameter for the declared input c");
});

test("main, with **kwargs behind a decorator, gets every declared input", async () => {
  const ran = await bench.run({
    code: `
import functools
def twice(function):
    @functools.wraps(function)
    def wrapper(**values):
        return {"result": [function(**values), sorted(values)]}
    return wrapper
@twice
def main(a, **rest):
    return a
`,
    inputs: { a: 1, b: 2 },
  });
  expect(jsonOf(ran)).toEqual([1, ["a", "b"]]);
});

test("main, with a parameter nobody declared, fails before it is called and names it", async () => {
  const ran = await bench.run({ code: "def main(regoin, a):\n    print('called')", inputs: { a: 1, region: "EU" } });
  expect(ran.outcome.status).toBe("failed");
  expect(ran.outcome.message).toBe(
    "main() needs regoin, and config.yaml declares no such input (declared: a, region).",
  );
  expect(ran.stdout).toBe("");
});

test("main, with a name Python gives a meaning to, keeps working: positional-only and hostile values", async () => {
  const ran = await bench.run({
    code: "def main(a, /, b):\n    return [a, b, {}.__class__.__name__]",
    inputs: { a: '"; import os #\n\u2028', b: { __proto__x: 1, "": 2 } },
  });
  expect(jsonOf(ran)).toEqual(['"; import os #\n\u2028', { __proto__x: 1, "": 2 }, "dict"]);
});

test("the runner, asked for its conversions, has one for every kind of input, and the function that it names", async () => {
  const script = `
import ast, json, sys
sys.path.insert(0, "runner")
import _treadle_inputs
tree = ast.parse(open("runner/main.py").read())
[table] = [node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "CONVERSIONS"]
print(json.dumps({kind: name is None or callable(getattr(_treadle_inputs, name)) for kind, name in ast.literal_eval(table).items()}))
`;
  const { stdout } = await promisify(execFile)("python3", ["-B", "-c", script]);
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(INPUT_KINDS.map((kind) => [kind, true])));
});
