export { deliverNotice } from "./deliver-notice.ts";
export { executeCommit } from "./execute-commit.ts";
export { fireTick } from "./fire-tick.ts";
