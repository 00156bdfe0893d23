/** A run of a case, as a report has it. */
export interface ReportedCase {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly seconds: number;
  /** In what it differs from what was expected; nothing when it passed. */
  readonly differences: readonly string[];
}

/** Returns JUnit's XML of all cases: a suite for each file, in the order given. */
export function toJunit(cases: readonly ReportedCase[]): string {
  const suites = [...new Set(cases.map(({ file }) => file))];
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="treadle" ${countsOf(cases)}>`,
    ...suites.flatMap((suite) => {
      const members = cases.filter(({ file }) => file === suite);
      const head = `  <testsuite name="${escape(suite)}" ${countsOf(members)} errors="0" skipped="0">`;
      return [head, ...members.flatMap(toCaseLines), "  </testsuite>"];
    }),
    "</testsuites>",
  ];
  return `${lines.join("\n")}\n`;
}

function toCaseLines({ name, file, line, seconds, differences }: ReportedCase): string[] {
  const head = `    <testcase name="${escape(name)}" classname="${escape(file)}" file="${escape(file)}" line="${line}" time="${seconds}"`;
  const [first] = differences;
  if (first === undefined) return [`${head}/>`];
  const message = escape(first.split("\n")[0] ?? "");
  return [
    `${head}>`,
    `      <failure message="${message}" type="difference">${escape(differences.join("\n"))}</failure>`,
    "    </testcase>",
  ];
}

function countsOf(cases: readonly ReportedCase[]): string {
  const failures = cases.filter(({ differences }) => differences.length > 0).length;
  const seconds = cases.reduce((sum, one) => sum + one.seconds, 0);
  return `tests="${cases.length}" failures="${failures}" time="${Number(seconds.toFixed(3))}"`;
}

/** What XML 1.0 can have nowhere, not even escaped: most control characters, and halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#13;",
  "\n": "&#10;",
  "\t": "&#9;",
};

function escape(text: string): string {
  return text.replace(UNWRITABLE, "\ufffd").replace(/[&<>"\r\n\t]/g, (one) => ENTITIES[one] ?? one);
}
