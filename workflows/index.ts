export { executeCommit } from "./execute-commit.ts";
