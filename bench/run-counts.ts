import { countHello } from "./counts.ts";
import { makeDataDir, removeDataDir } from "./service.ts";

/** `npm run bench -- --counts`: what one `hello` makes PostgreSQL, Temporal and the service do. */
const CALLS = 100;
const dataDir = await makeDataDir();
for (const [name, count] of Object.entries(await countHello(dataDir, CALLS)))
  process.stdout.write(`${count.toFixed(1).padStart(9)}  ${name}\n`);
await removeDataDir(dataDir);
