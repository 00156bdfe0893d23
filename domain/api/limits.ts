// Without zod: pages that only need a limit do not load it.

/** The longest message of a commit, in characters. */
export const MESSAGE_CHARACTERS_MAX = 1_000;

/** How long a replaced key may go on working: 30 days. */
export const GRACE_SECONDS_MAX = 30 * 86_400;

/** How many next runs one answer may list. */
export const NEXT_RUNS_MAX = 100;

/** The most files of a commit. A whole folder may be dropped in at once, so one request may change as many. */
export const FOLDER_FILES_MAX = 1_000;

/** The longest page of commits. */
export const COMMITS_PAGE_MAX = 100;

/** The longest page of executions. */
export const EXECUTIONS_PAGE_MAX = 200;

/** How many executions one request may end. */
export const CANCELLED_AT_ONCE_MAX = 100;

/** The longest text that executions are searched for, in characters. Each one of a page's window is compared with it. */
export const SEARCH_CHARACTERS_MAX = 200;

/** The longest page of ticks. */
export const TICKS_PAGE_MAX = 200;

/** The longest page of notices. */
export const NOTICES_PAGE_MAX = 200;

/** The longest page of the ledger. */
export const LEDGER_PAGE_MAX = 200;

/** The most days that one answer lists the spending of. */
export const SPEND_DAYS_MAX = 366;

/** The longest payload of a schedule that is sent by itself. A longer one is written into config.yaml. */
export const PAYLOAD_CHARACTERS_MAX = 8_000;
