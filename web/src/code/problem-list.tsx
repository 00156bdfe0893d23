import { Button } from "@mantine/core";
import { AlertIcon } from "../app/icons.tsx";
import { TextWithCode } from "../app/text-with-code.tsx";
import classes from "./code-tab.module.css";
import type { ShownProblem } from "./problems.ts";

/** Everything that keeps the draft from being a commit, and what is only to be known. Each leads to its place. */
export function ProblemList(props: {
  readonly problems: readonly ShownProblem[];
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
  /** Undefined: nothing may be changed here. */
  readonly onFix?: ((problem: ShownProblem) => void) | undefined;
}) {
  const { problems, onShow, onFix } = props;
  if (problems.length === 0) return null;
  const warnings = problems.filter(({ isWarning }) => isWarning).length;
  const errors = problems.length - warnings;
  const counts = [errors > 0 && count(errors, "problem"), warnings > 0 && count(warnings, "warning")];
  return (
    <section className={classes.problems} aria-label="Problems">
      <h3 className={classes.problemsTitle} data-mild={errors === 0 || undefined} aria-live="polite">
        <AlertIcon size={14} />
        {counts.filter(Boolean).join(", ")}
      </h3>
      <ul>
        {problems.map((problem, index) => (
          <li key={`${problem.file} ${problem.line} ${problem.column} ${index}`}>
            <Place problem={problem} onShow={onShow} />
            {problem.fix !== undefined && onFix !== undefined && (
              <Button variant="subtle" size="compact-xs" onClick={() => onFix(problem)}>
                <span>
                  <TextWithCode text={problem.fix.title} />
                </span>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Place(props: {
  readonly problem: ShownProblem;
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
}) {
  const { file, line, column, message, isWarning } = props.problem;
  return (
    <button type="button" className={classes.problem} onClick={() => props.onShow(file, { line, column })}>
      <span className={classes.problemPlace}>
        {file}:{line}:{column}
      </span>
      <span>
        {isWarning && <span className={classes.warning}>Warning: </span>}
        <TextWithCode text={message} />
      </span>
    </button>
  );
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
