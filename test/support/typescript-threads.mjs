// Lets worker threads of the test runner run our TypeScript, as jest does for the code of its own context.
import { register } from "node:module";

register("../setup/servers/typescript-loader.mjs", import.meta.url);
