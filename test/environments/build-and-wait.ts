// A service in small that builds one environment and says how far it is, to be killed in the middle.
import { createEnvironments } from "../../environments/builder.ts";

const { settings, key, lock } = JSON.parse(process.argv[2] ?? "{}");
const environments = createEnvironments({ ...settings, log: { info: () => {}, warn: () => {} } });
await environments.ensure(key, lock, { report: (line) => console.log(line) });
