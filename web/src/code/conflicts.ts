import { useLocalStorage } from "@mantine/hooks";
import { useSession } from "../app/session.ts";

/**
 * Files that an author and somebody else have both changed, until the author has decided: by path the commit that has the other
 * text. It holds for a draft that goes on from the commit `at`, and for no other.
 */
export interface Conflicts {
  readonly at: string;
  readonly files: Readonly<Record<string, string>>;
}

const NONE: Conflicts = { at: "", files: {} };

/** What an author has to decide about a draft, kept by the browser: it is there after the page was loaded again. */
export function useConflicts(workflowId: string, base: string | null) {
  const { userId } = useSession();
  const [kept, keep] = useLocalStorage<Conflicts>({
    key: `treadle-conflicts-${userId}-${workflowId}`,
    defaultValue: NONE,
    getInitialValueInEffect: false,
  });
  const files = kept.at === base ? kept.files : NONE.files;
  return {
    files,
    /** Another commit was taken over, and these files were changed by both. What was not decided before stays to be. */
    add: (at: string, paths: readonly string[]) =>
      keep({ at, files: { ...files, ...Object.fromEntries(paths.map((path) => [path, at])) } }),
    settle: (path: string) => keep({ at: kept.at, files: without(files, path) }),
    clear: () => keep(NONE),
  };
}

function without(files: Conflicts["files"], path: string): Conflicts["files"] {
  return Object.fromEntries(Object.entries(files).filter(([other]) => other !== path));
}
