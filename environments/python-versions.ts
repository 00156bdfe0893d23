const CLAUSE = /^\s*(===|==|!=|<=|>=|~=|<|>)\s*v?(\d+(?:\.\d+){0,4})(?:(a|b|rc)(\d+))?(\.\*)?\s*$/;
const CHARACTERS_MAX = 200;

interface Clause {
  readonly operator: string;
  readonly numbers: readonly number[];
  /** Below zero for an alpha, beta or candidate of the version. */
  readonly stage: number;
  readonly isPrefix: boolean;
}

/** What a `requires-python` demands, or undefined when it is not one. Post, development and local versions of Python do not exist. */
export function parseVersionDemand(text: string): readonly Clause[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const clauses: Clause[] = [];
  for (const part of text.split(",").filter((each, index, all) => each.trim() !== "" || all.length === 1)) {
    const [, operator, release, stageName, stageNumber, star] = CLAUSE.exec(part) ?? [];
    if (operator === undefined || release === undefined) return undefined;
    const numbers = release.split(".").map(Number);
    const isPrefix = star !== undefined;
    if (isPrefix && ((operator !== "==" && operator !== "!=") || stageName !== undefined)) return undefined;
    if (operator === "~=" && numbers.length < 2) return undefined;
    const stage =
      stageName === undefined ? 0 : ["rc", "b", "a"].indexOf(stageName) * -1_000 - 1_000 + Number(stageNumber);
    clauses.push({ operator, numbers, stage, isPrefix });
  }
  return clauses.length === 0 ? undefined : clauses;
}

/** Whether a released version of Python, such as 3.11.2, is one of those demanded. False for a demand that is none. */
export function fitsVersion(demand: string, version: string): boolean {
  const numbers = version.split(".").map(Number);
  return parseVersionDemand(demand)?.every((clause) => fitsClause(clause, numbers)) ?? false;
}

function fitsClause({ operator, numbers, stage, isPrefix }: Clause, version: readonly number[]): boolean {
  const order = compareNumbers(version, numbers) || Math.sign(-stage);
  switch (operator) {
    case "==":
    case "===":
      return isPrefix ? beginsWith(version, numbers) : order === 0;
    case "!=":
      return isPrefix ? !beginsWith(version, numbers) : order !== 0;
    case "<=":
      return order <= 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case ">":
      return order > 0;
    default: // ~=, compatible with: at least this, and the same but for the last number
      return order >= 0 && beginsWith(version, numbers.slice(0, -1));
  }
}

function beginsWith(version: readonly number[], numbers: readonly number[]): boolean {
  return numbers.every((number, index) => number === (version[index] ?? 0));
}

/** Missing numbers count as zero: 3.11 is 3.11.0. */
function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}
