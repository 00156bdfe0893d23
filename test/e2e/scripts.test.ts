import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aFolder, treadle } from "../support/command-line.ts";
import { borrowService, type LentService } from "../support/lent-service.ts";

let lent: LentService;

beforeAll(async () => {
  lent = await borrowService();
});

afterAll(() => lent?.leave());

const PRINT = "    print(json.dumps(values, default=str, sort_keys=True))\n";

/** Scripts as people have them, what is given to them, and what each has then read of its command line. */
const SCRIPTS = {
  argparse: {
    text: `import argparse, json, sys
from pathlib import Path

REGIONS = ["EU", "US"]

def main(argv=None):
    parser = argparse.ArgumentParser(description="Says what it is for")
    parser.add_argument("orders", type=Path, help="the orders")
    parser.add_argument("--region", choices=REGIONS, default="EU", help="Which region (default: %(default)s)")
    parser.add_argument("-n", "--top", type=int, default=10)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--no-header", dest="header", action="store_false")
    parser.add_argument("--tags", nargs="*", default=[])
    parser.add_argument("--from", dest="from")
    parser.add_argument("-o", "--output", default="report.csv")
    values = vars(parser.parse_args(argv))
    Path(values["output"]).write_text(values["orders"].read_text().upper())
    values["orders"] = values["orders"].name
${PRINT}
if __name__ == "__main__":
    main()
`,
    given: [
      "-f",
      "orders=@orders.csv",
      "-i",
      "rate=-0.5",
      "-i",
      "verbose=true",
      "-i",
      'tags=["a b","c"]',
      "-i",
      "from_=-x",
    ],
    read: {
      from: "-x",
      header: true,
      orders: "orders.csv",
      output: "outputs/report.csv",
      rate: -0.5,
      region: "EU",
      tags: ["a b", "c"],
      top: 10,
      verbose: true,
    },
  },
  click: {
    text: `import json
import click

@click.command()
@click.argument("source", type=click.File("r"))
@click.option("--count", "-c", default=1, type=click.IntRange(1, 5), help="How often")
@click.option("--name", required=True)
@click.option("--shout/--no-shout", default=True)
@click.option("--mode", type=click.Choice(["a", "b"]), default="a")
@click.option("--tag", multiple=True)
@click.option("-v", "verbose", count=True)
def cli(source, **values):
    """Says what
    it is for

    and more."""
    values["source"] = source.read()
${PRINT}
if __name__ == "__main__":
    cli()
`,
    given: [
      "-f",
      "source=@orders.csv",
      "-i",
      "name=--name",
      "-i",
      "shout=false",
      "-i",
      'tag=["x","y"]',
      "-i",
      "verbose=2",
    ],
    read: { count: 1, mode: "a", name: "--name", shout: false, source: "a,b\n", tag: ["x", "y"], verbose: 2 },
  },
  typer: {
    text: `"""Says what it is for"""
import json
from enum import Enum
from typing import Annotated, Optional
import typer

class Mode(str, Enum):
    fast = "fast"
    slow = "slow"

app = typer.Typer()

@app.command()
def run(name: str, times: int = 1, mode: Mode = Mode.fast, loud: bool = False, tags: Optional[list[str]] = None,
        rate: Annotated[float, typer.Option("--rate", help="The rate")] = 1.5):
    values = {"name": name, "times": times, "mode": mode.value, "loud": loud, "tags": tags, "rate": rate}
${PRINT}
if __name__ == "__main__":
    app()
`,
    given: ["-i", "name=Ada", "-i", "loud=true", "-i", "mode=slow", "-i", 'tags=["t"]'],
    read: { loud: true, mode: "slow", name: "Ada", rate: 1.5, tags: ["t"], times: 1 },
  },
  main: {
    text: `import json
def main(a: int, b: str = "x", *, flag=False):
    """Says what it is for"""
    values = {"a": a, "b": b, "flag": flag}
${PRINT}`,
    given: ["-i", "a=3"],
    read: { a: 3, b: "x", flag: false },
  },
};

test.each(Object.entries(SCRIPTS))(
  "a script of %s, published as it is, is a workflow whose inputs reach its own parameters",
  async (name, { text, given, read }) => {
    const folder = await aFolder({ [`${name}_report.py`]: text, "orders.csv": "a,b\n" });
    const path = join(folder, `${name}_report.py`);
    const published = await treadle(lent.dataDir, ["publish", path, "--json"]);
    expect([published.code, published.stderr]).toEqual([0, expect.stringContaining(`Read ${name}_report.py`)]);
    const { workflowId } = published.json() as { workflowId: string };
    const inputs = given.map((each) => each.replace("@orders.csv", `@${join(folder, "orders.csv")}`));
    const ran = await treadle(lent.dataDir, ["run", workflowId, ...inputs]);
    expect([ran.code, ran.stdout.split("\n").filter((line) => line.startsWith("{"))]).toEqual([
      0,
      [expect.any(String)],
    ]);
    expect(JSON.parse(ran.stdout.split("\n").find((line) => line.startsWith("{")) ?? "")).toEqual(read);
    if (name === "argparse") expect(ran.stdout).toContain("report.csv");
    const again = await treadle(lent.dataDir, ["publish", path, "--json"]);
    expect(again.json()).toMatchObject({ workflowId, changed: false });
    expect((await treadle(lent.dataDir, ["workflows", "show", workflowId, "--json"])).json()).toMatchObject({
      name: `${name.slice(0, 1).toUpperCase()}${name.slice(1)} report`,
      description: "Says what it is for",
    });
  },
  180_000,
);

test("init, of a script, writes a folder that can be published; of a broken one it says where, and it overwrites nothing", async () => {
  const folder = await aFolder({ "tool.py": SCRIPTS.main.text, "bad.py": "def main(:\n" });
  const made = await treadle(lent.dataDir, ["init", join(folder, "tool.py"), "--json"]);
  expect(made.json()).toEqual({ folder: join(folder, "tool"), files: ["config.yaml", "tool.py"] });
  expect(await readFile(join(folder, "tool/config.yaml"), "utf8")).toBe(`name: Tool
description: Says what it is for
entrypoint: tool.py
inputs:
  a:
    type: integer
  b:
    type: string
    default: x
  flag:
    type: boolean
    default: false
triggers:
  api:
    enabled: true
`);
  await writeFile(join(folder, "tool/tool.py"), "changed");
  expect((await treadle(lent.dataDir, ["init", join(folder, "tool.py")])).code).toBe(1);
  expect(await readFile(join(folder, "tool/tool.py"), "utf8")).toBe("changed");
  const bad = await treadle(lent.dataDir, ["init", join(folder, "bad.py")]);
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringMatching(/^bad\.py:1:10 This is not Python: /)]);
  const small = join(folder, "small");
  expect((await treadle(lent.dataDir, ["init", small])).code).toBe(0);
  expect((await treadle(lent.dataDir, ["run", small, "-i", "name=Ada"])).stdout).toContain("Working for Ada");
}, 120_000);
