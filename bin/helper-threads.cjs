const { readdirSync } = require("node:fs");
const { getPriority, setPriority } = require("node:os");

/** As `system/threads/thread.mjs` has it for the threads of our own. */
const PRIORITY = 10;

/**
 * Has the helper threads of V8 give way to all else: those that compile, mark and sweep beside the event loop. On a machine with two
 * cores they made the slowest calls a third slower. To be called before anything else. What Node.js 20, 22 and 24 have started by then
 * are the event loop and these threads. Those that files are read by come with their first use, and keep their priority.
 */
function lowerHelperThreads() {
  if (process.platform !== "linux") return;
  const priority = Math.max(PRIORITY, getPriority());
  for (const thread of readdirSync("/proc/self/task").map(Number)) if (thread !== process.pid) lower(thread, priority);
}

/** A thread that has just ended, or that nobody may change here, is left as it is. */
function lower(thread, priority) {
  try {
    setPriority(thread, priority);
  } catch (error) {
    if (error.code !== "ERR_SYSTEM_ERROR") throw error;
  }
}

module.exports = { lowerHelperThreads };
