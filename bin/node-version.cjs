// Old words only: this file is read by every Node.js, however old.
var LEAST = [20, 19];

/** What to tell somebody whose Node.js is too old for this project; undefined when it is not. */
function explainOldNode(version) {
  var parts = version.split(".").map(Number);
  if (parts[0] > LEAST[0] || (parts[0] === LEAST[0] && parts[1] >= LEAST[1])) return undefined;
  return (
    "Treadle needs Node.js " +
    LEAST.join(".") +
    " or later, and this is " +
    version +
    " (" +
    process.execPath +
    ").\n" +
    "Install a newer one, or put it first on the PATH, and start again."
  );
}

module.exports = { explainOldNode: explainOldNode };
