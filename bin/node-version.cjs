// Old words only: this file is read by every Node.js, however old.
var LEAST = [20, 19];
/** The first that still gets fixes of security. */
var SUPPORTED = [22, 12];

function isBefore(version, least) {
  var parts = version.split(".").map(Number);
  return parts[0] < least[0] || (parts[0] === least[0] && parts[1] < least[1]);
}

/** What to tell somebody whose Node.js is too old for this project; undefined when it is not. */
function explainOldNode(version) {
  if (!isBefore(version, LEAST)) return undefined;
  return (
    "Treadle needs Node.js " +
    SUPPORTED.join(".") +
    " or later, and this is " +
    version +
    " (" +
    process.execPath +
    ").\n" +
    "Install a newer one, or put it first on the PATH, and start again."
  );
}

/** What to tell somebody whose Node.js still does, but gets no more fixes; undefined when it does. */
function warnOfOldNode(version) {
  if (!isBefore(version, SUPPORTED)) return undefined;
  return (
    "Node.js " + version + " gets no more security fixes. Treadle still runs on it; install Node.js 22 or 24 soon."
  );
}

module.exports = { explainOldNode: explainOldNode, warnOfOldNode: warnOfOldNode };
