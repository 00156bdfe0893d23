import type { FileProblem } from "../../../domain/errors.ts";
import { AlertIcon } from "../app/icons.tsx";
import classes from "./code-tab.module.css";

/** Everything that keeps the draft from being a commit. Each leads to its place. */
export function ProblemList(props: {
  readonly problems: readonly FileProblem[];
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
}) {
  const { problems, onShow } = props;
  if (problems.length === 0) return null;
  return (
    <section className={classes.problems} aria-label="Problems">
      <h3 className={classes.problemsTitle} aria-live="polite">
        <AlertIcon size={14} />
        {problems.length === 1 ? "1 problem" : `${problems.length} problems`}
      </h3>
      <ul>
        {problems.map(({ file, line, column, message }, index) => (
          <li key={`${file} ${line} ${column} ${index}`}>
            <button type="button" className={classes.problem} onClick={() => onShow(file, { line, column })}>
              <span className={classes.problemPlace}>
                {file}:{line}:{column}
              </span>
              <span>{message}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
