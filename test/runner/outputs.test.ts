import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Bench, jsonOf, openBench } from "./harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** Small stand-ins with the names and methods by which the runner knows the real ones; tests/e2e uses the real ones. */
const LIBRARIES = {
  "pandas/__init__.py": `
class NaTType:
    def isoformat(self): return "NaT"
class NAType: pass
class RangeIndex:
    name = None
class DataFrame:
    index = RangeIndex()
    def to_csv(self, path, index):
        open(path, "w").write("csv %s" % index)
`,
  "matplotlib/figure.py": `
class Figure:
    def savefig(self, path, format):
        open(path, "w").write("figure " + format)
`,
  "matplotlib/__init__.py": "",
  "PIL/__init__.py": "",
  "PIL/Image.py": `
class Image:
    def save(self, path, format):
        open(path, "w").write("image " + format)
`,
};

test("main, returning a dict, makes one output per key in its natural format", async () => {
  const ran = await bench.run({
    code: `
import pandas, PIL.Image, matplotlib.figure
from pathlib import Path
class Photo(PIL.Image.Image): pass
def main():
    Path("/tmp/made-2026.pdf").write_text("pdf")
    Path("outputs/kept.xlsx").write_text("xlsx")
    return {"text": "t", "raw": b"r", "number": 1.5, "nothing": None, "report": Path("/tmp/made-2026.pdf"), "sheet": Path("outputs/kept.xlsx"),
            "data": Path("data.csv"), "table": pandas.DataFrame(), "chart": matplotlib.figure.Figure(), "photo": Photo()}
`,
    commit: { ...LIBRARIES, "data.csv": "1;2" },
  });
  expect(ran.outcome).toMatchObject({ status: "success", message: "" });
  expect(ran.names).toEqual({
    text: "text.txt",
    raw: "raw.bin",
    number: "number.json",
    nothing: "nothing.json",
    report: "made-2026.pdf",
    sheet: "kept.xlsx",
    data: "data.csv",
    table: "table.csv",
    chart: "chart.png",
    photo: "photo.png",
  });
  expect(ran.texts).toEqual({
    text: "t",
    raw: "r",
    number: "1.5",
    nothing: "null",
    report: "pdf",
    sheet: "xlsx",
    data: "1;2",
    table: "csv False",
    chart: "figure png",
    photo: "image PNG",
  });
});

test.each([
  ["a str", '"text é"', "result.txt", "text é"],
  ["a list", "[1, 'a', None, True]", "result.json", '[1, "a", null, true]'],
  ["zero", "0", "result.json", "0"],
  ["False", "False", "result.json", "false"],
  ["bytes", "bytearray(b'x')", "result.bin", "x"],
])("main, returning %s, makes the output result", async (_what, expression, fileName, content) => {
  const ran = await bench.run({ code: `def main():\n    return ${expression}` });
  expect(ran.names).toEqual({ result: fileName });
  expect(ran.texts).toEqual({ result: content });
});

test.each(["None", "{}"])("main, returning %s, makes no output", async (expression) => {
  const ran = await bench.run({ code: `def main():\n    return ${expression}` });
  expect(ran.outcome.status).toBe("success");
  expect(ran.outputs).toEqual([]);
});

test("main, returning values JSON does not know, saves them sensibly", async () => {
  const ran = await bench.run({
    code: `
import dataclasses, datetime, decimal, enum, uuid, pathlib
@dataclasses.dataclass
class Point:
    x: int
    y: object
class Color(enum.Enum):
    RED = "red"
class Scalar:
    def item(self): return 4
class Array:
    def tolist(self): return [1, 2]
def main():
    return {"result": [datetime.datetime(2026, 1, 2, 3), datetime.date(2026, 1, 2), datetime.timedelta(minutes=1), decimal.Decimal("1.10"),
        uuid.UUID(int=1), {3, 1, 2}, (1, 2), Point(1, Point(2, None)), Color.RED, Scalar(), Array(), pathlib.PurePath("a/b"),
        {(1, 2): "t", datetime.date(2026, 1, 2): "d", 5: "i"}, "ü\\ud800"]}
`,
  });
  expect(jsonOf(ran)).toEqual([
    "2026-01-02T03:00:00",
    "2026-01-02",
    60,
    "1.10",
    "00000000-0000-0000-0000-000000000001",
    [1, 2, 3],
    [1, 2],
    { x: 1, y: { x: 2, y: null } },
    "red",
    4,
    [1, 2],
    "a/b",
    { "1, 2": "t", "2026-01-02": "d", "5": "i" },
    "ü\ud800",
  ]);
});

test("main, returning numbers and values that JSON lacks, saves them as null and says so", async () => {
  const ran = await bench.run({
    code: `
import dataclasses, decimal, pandas
@dataclasses.dataclass
class Row:
    price: float
class Array:
    def tolist(self): return [1.5, float("nan")]
def main():
    nan = float("nan")
    return {
        "score": nan,
        "rows": [Row(nan), Array(), {"a": float("-inf"), nan: 1}, (pandas.NaTType(), pandas.NAType(), decimal.Decimal("NaN"))],
        "clean": [1.5, 10 ** 400, decimal.Decimal("1.10")],
    }
`,
    commit: LIBRARIES,
  });
  expect(ran.outcome).toMatchObject({ status: "success", message: "" });
  expect(ran.texts).toEqual({
    score: "null",
    rows: '[{"price": null}, [1.5, null], {"a": null, "null": 1}, [null, null, null]]',
    clean: `[1.5, 1${"0".repeat(400)}, "1.10"]`,
  });
  expect(ran.stderr.split("\n")).toEqual([
    'treadle: Output "score": 1 value is null, because JSON has no NaN, Infinity, NaT or NA.',
    'treadle: Output "rows": 7 values are null, because JSON has no NaN, Infinity, NaT or NA.',
  ]);
});

test.each([
  [
    "an object",
    "{'score': object()}",
    'Output "score" cannot be saved as JSON: builtins.object is not a kind of value JSON knows.',
  ],
  ["bytes inside", "{'score': [b'x']}", "bytes inside a structure"],
  ["a missing file", "{'report': __import__('pathlib').Path('no.pdf')}", 'Output "report": there is no file no.pdf.'],
  ["a folder", "{'report': __import__('pathlib').Path('/tmp')}", 'Output "report": /tmp is not a file.'],
  ["a list of paths", "{'report': [__import__('pathlib').Path('main.py')]}", "Return one key for each file"],
  ["a number as a name", "{1: 'x'}", "An output's name must be a string, not int (1)."],
  ["a path as a name", "{'../x': 'x'}", "cannot be an output's name"],
  ["an empty name", "{'': 'x'}", "cannot be an output's name"],
  [
    "a structure that contains itself",
    "(lambda x: x.append(x) or x)([])",
    "nested too deeply for JSON, or contains itself",
  ],
  ["too many outputs", "{str(i): i for i in range(51)}", "main() returned 51 outputs; at most 50 are allowed."],
])("main, returning %s, fails and says why", async (_what, expression, message) => {
  const ran = await bench.run({ code: `def main():\n    return ${expression}` });
  expect(ran.outcome.status).toBe("failed");
  expect(ran.outcome.message).toContain(message);
  expect(ran.stderr).not.toContain("Traceback");
});

test("outputs folder, with files of equal stems and in folders, names each once", async () => {
  const ran = await bench.run({
    code: `
from pathlib import Path
out = Path("outputs")
for name in ("report.pdf", "report.csv", "single.tar.gz", ".hidden", "none", "charts/a.png", "charts/deep/a.png"):
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(name)
`,
  });
  const names = ["report.pdf", "report.csv", "single.tar.gz", ".hidden", "none", "charts/a.png", "charts/deep/a.png"];
  expect(ran.names).toEqual({
    "report.pdf": "report.pdf",
    "report.csv": "report.csv",
    "single.tar": "single.tar.gz",
    ".hidden": ".hidden",
    none: "none",
    "charts/a.png": "charts/a.png",
    "charts/deep/a.png": "charts/deep/a.png",
  });
  expect(Object.values(ran.texts).toSorted()).toEqual(names.toSorted());
});

test("main, returning what is also left in outputs/, keeps both", async () => {
  const ran = await bench.run({
    code: `
from pathlib import Path
def main():
    Path("outputs/summary.json").write_text("left")
    Path("/tmp/summary.json").write_text("copied")
    return {"summary": "returned", "other": Path("/tmp/summary.json"), "json": {"a": 1}, "text": [1]}
`,
  });
  expect(ran.names).toEqual({
    summary: "summary.txt",
    other: "summary (2).json",
    "summary.json": "summary.json",
    json: "json.json",
    text: "text.json",
  });
  expect(ran.texts.other).toBe("copied");
});

test("outputs folder, with every kind of strange name, gives each file back under its own", async () => {
  const names = [
    "a b",
    "ü €",
    "new\nline",
    "back\\slash",
    "%2F",
    "..hidden",
    "n".repeat(255),
    "quote\"'",
    "🎈",
    "-rf",
    "\u202eevil",
  ];
  const ran = await bench.run({
    code: `
import os
for name in ${JSON.stringify(names)}: open("outputs/" + name, "w").write(name)
open(b"outputs/\\xff\\xfe", "w").write("not text")
`,
  });
  expect(ran.outcome.status).toBe("success");
  expect(ran.outputs.map(({ fileName }) => fileName).toSorted()).toEqual(names.toSorted());
  expect(ran.log.filter(({ stream }) => stream === "system").map(({ text }) => text)).toEqual([
    "Left out of the outputs: a file whose name is not UTF-8.",
  ]);
});

test("declared outputs, one of them missing, fail the execution and are named", async () => {
  const code = "def main():\n    return {'report': 'x', 'extra': 1}";
  const missing = await bench.run({ code, outputs: ["report", "chart"] });
  expect(missing.outcome).toMatchObject({
    status: "failed",
    message: "Declared outputs are missing: chart. The execution made extra, report.",
  });
  expect(missing.outputs.map(({ name }) => name)).toEqual(["extra", "report"]);
  const complete = await bench.run({ code, outputs: ["report"] });
  expect(complete.outcome.status).toBe("success");
});

test("declared outputs, two files with the stem of one, are there", async () => {
  const ran = await bench.run({
    code: "for e in ('csv', 'pdf'): open('outputs/report.' + e, 'w').close()",
    outputs: ["report"],
  });
  expect(ran.outcome.status).toBe("success");
});
