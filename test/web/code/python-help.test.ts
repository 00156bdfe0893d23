import { expect, test } from "@jest/globals";
import { completePython } from "../../../web/src/code/python-help.ts";

const CONFIG = "inputs: { order_date: { type: date }, notes: { type: file_list, required: false } }\n";

test.each([
  ["    treadle.", 0, ["progress", "run"]],
  ["    treadle.pro", 3, ["progress", "run"]],
  ["x = treadle.run.sch", 3, expect.arrayContaining(["id", "scheduled_for"])],
  ["def main(or", 2, ["order_date", "notes"]],
])("completePython, behind %p, offers what Treadle knows there", (before, written, labels) => {
  const completion = completePython(before, CONFIG);
  expect([completion?.written, completion?.names.map(({ label }) => label)]).toEqual([written, labels]);
});

test.each(["os.", "a.treadle.", "def main(", "x = ", "1.", "constructor."])(
  "completePython, behind %p, offers nothing",
  (before) => {
    expect(completePython(before, CONFIG)).toBeUndefined();
  },
);

test("completePython, with a config.yaml that is wrong, offers no inputs and still the module", () => {
  expect(completePython("or", "inputs: [")).toBeUndefined();
  expect(completePython("treadle.", "inputs: [")?.names).toHaveLength(2);
});
