/** What disk.test.ts runs in a process of its own: `put-endless DIR`, `fill DIR`, `put-file DIR FILE`. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createDiskStorage } from "../../storage/disk.ts";

const [command, dir = "", path = ""] = process.argv.slice(2);
const storage = await createDiskStorage({ dir });
const zeros = (bytes: number) => Readable.from([Buffer.alloc(bytes)]);

if (command === "put-endless") {
  let sent = 0;
  async function* endless() {
    for (;;) {
      yield Buffer.alloc(100_000);
      sent += 100_000;
      process.stdout.write(`${sent}\n`);
    }
  }
  await storage.put("a", Readable.from(endless()));
}

if (command === "fill") {
  await storage.put("kept", zeros(1_000_000));
  const refusal = await storage.put("a/b", zeros(5_000_000)).then(
    () => new Error("was not refused"),
    (error: Error) => error,
  );
  const keys: string[] = [];
  for await (const key of storage.list("")) keys.push(key);
  const incoming = await readdir(join(dir, "incoming"));
  const { bytes: after } = await storage.put("a/c", zeros(3));
  const report = {
    refused: refusal.name,
    message: refusal.message,
    cause: (refusal.cause as NodeJS.ErrnoException | undefined)?.code,
    keys,
    incoming,
    after,
  };
  process.stdout.write(JSON.stringify(report));
}

if (command === "put-file") {
  process.stdout.write(JSON.stringify(await storage.putFile("a", path)));
}
