import { type Command, Option } from "commander";
import { type Act, addCommand } from "./command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** `completion --shell bash`: a script that completes the names of commands and options. */
export function addCompletionCommand(program: Command, act: Act): void {
  addCommand(program, "completion", "print a script that completes commands and options in a shell")
    .addOption(new Option("--shell <shell>", "the shell").choices(SHELLS).default("bash"))
    .action(
      act<{ shell: (typeof SHELLS)[number] }>(async (_context, _args, { shell }) => {
        const words = listWords(program);
        const script = shell === "fish" ? writeFish(words) : writeBash(words, shell);
        return { document: { shell, script }, lines: [script] };
      }),
    );
}

/** What may follow each command: its own commands and options. */
type Words = ReadonlyMap<string, readonly string[]>;

function listWords(program: Command): Words {
  const words = new Map<string, string[]>();
  const visit = (command: Command, path: string): void => {
    const below = command.commands.map((each) => each.name());
    words.set(path, [...below, ...command.options.flatMap(({ long }) => long ?? [])]);
    for (const each of command.commands) visit(each, `${path} ${each.name()}`);
  };
  visit(program, "treadle");
  return words;
}

function writeBash(words: Words, shell: "bash" | "zsh"): string {
  return [
    ...(shell === "zsh" ? ["autoload -U +X bashcompinit && bashcompinit"] : []),
    "_treadle() {",
    "  local line=treadle at",
    "  for ((at = 1; at < COMP_CWORD; at++)); do",
    '    [[ ${COMP_WORDS[at]} == -* ]] || line="$line ${COMP_WORDS[at]}"',
    "  done",
    '  while [[ $line == *" "* ]] && ! _treadle_words "$line" >/dev/null; do line=${line% *}; done',
    '  COMPREPLY=($(compgen -f -W "$(_treadle_words "$line")" -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "_treadle_words() {",
    "  case $1 in",
    ...[...words].map(([path, all]) => `    "${path}") echo "${all.join(" ")}" ;;`),
    "    *) return 1 ;;",
    "  esac",
    "}",
    "complete -F _treadle treadle",
  ].join("\n");
}

function writeFish(words: Words): string {
  return [...words]
    .map(([path, all]) => {
      const [, ...parts] = path.split(" ");
      const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join("; and ");
      return `complete -c treadle -n '${seen || "__fish_use_subcommand"}' -a '${all.join(" ")}'`;
    })
    .join("\n");
}
