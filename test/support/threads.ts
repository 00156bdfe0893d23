import { createThreads } from "../../system/threads/threads.ts";

/** Those of a test file, which start when they are needed. */
export const TEST_THREADS = createThreads({ threadsMax: 2 });
