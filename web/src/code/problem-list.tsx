import { AlertIcon } from "../app/icons.tsx";
import classes from "./code-tab.module.css";
import type { ShownProblem } from "./problems.ts";

/** Everything that keeps the draft from being a commit, and what is only to be known. Each leads to its place. */
export function ProblemList(props: {
  readonly problems: readonly ShownProblem[];
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
}) {
  const { problems, onShow } = props;
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
        {problems.map(({ file, line, column, message, isWarning }, index) => (
          <li key={`${file} ${line} ${column} ${index}`}>
            <button type="button" className={classes.problem} onClick={() => onShow(file, { line, column })}>
              <span className={classes.problemPlace}>
                {file}:{line}:{column}
              </span>
              <span>
                {isWarning && <span className={classes.warning}>Warning: </span>}
                {message}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
