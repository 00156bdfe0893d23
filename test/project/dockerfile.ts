/** Variables that libraries read by themselves: Express. */
export const VARIABLES_OF_LIBRARIES = ["NODE_ENV"];

export interface Instruction {
  /** In capitals. */
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly from: string;
  readonly as: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile in order. Knows comments, continued lines, and no here-documents. */
export function parseDockerfile(source: string): Stage[] {
  const lines = source.split("\n").filter((line) => line.trim() !== "" && !/^\s*#/.test(line));
  const stages: { from: string; as: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")) {
    const [, name = "", text = ""] = /^([A-Za-z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`This line of the Dockerfile is no instruction: ${line}`);
    if (name.toUpperCase() === "FROM") {
      const [, from = "", as] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(text) ?? [];
      stages.push({ from, as, instructions: [] });
    } else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`The Dockerfile has ${name} before its first FROM.`);
      stage.instructions.push({ name: name.toUpperCase(), text });
    }
  }
  return stages;
}

/** The names and values that ENV instructions set. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = stage.instructions.filter(({ name }) => name === "ENV").flatMap(({ text }) => text.split(/\s+/));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=")];
    }),
  );
}
