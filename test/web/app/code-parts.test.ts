import { expect, test } from "@jest/globals";
import { splitCode } from "../../../web/src/app/code-parts.ts";

const code = (text: string) => ({ text, isCode: true });
const words = (text: string) => ({ text, isCode: false });

test.each([
  ["one without code", "There is none.", [words("There is none.")]],
  ["names of code", "`a` or `b`", [code("a"), words(" or "), code("b")]],
  ["a backtick without a second", "a ` alone", [words("a ` alone")]],
  ["nothing", "", []],
])("splitCode, of %s, finds just what stands between two backticks", (_name, message, parts) => {
  expect(splitCode(message)).toEqual(parts);
});
