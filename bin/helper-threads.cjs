var fs = require("fs");
var os = require("os");

/** As `system/threads/thread.mjs` has it for the threads of our own. */
var PRIORITY = 10;

/**
 * Has the helper threads of V8 give way to all else: those that compile, mark and sweep beside the event loop. On a machine with two
 * cores they made the slowest calls a third slower. To be called before anything else. What Node.js 20, 22 and 24 have started by then
 * are the event loop and these threads. Those that files are read by come with their first use, and keep their priority.
 */
function lowerHelperThreads() {
  if (process.platform !== "linux") return;
  var priority = Math.max(PRIORITY, os.getPriority());
  fs.readdirSync("/proc/self/task").forEach(function (thread) {
    if (Number(thread) === process.pid) return;
    try {
      os.setPriority(Number(thread), priority);
    } catch (_) {
      // It has just ended, or nobody may change it here. Then it is only slower.
    }
  });
}

module.exports = { lowerHelperThreads: lowerHelperThreads };
