import { createRequire } from "node:module";
import { expect, test } from "@jest/globals";
import { DefaultLogger } from "@temporalio/worker";
import { withRareFlushes } from "../../src/patches/temporal-logs.ts";

const { NativeLogCollector } = createRequire(import.meta.url)("@temporalio/worker/lib/runtime-logger.js") as {
  NativeLogCollector: new (logger: DefaultLogger) => { logger: { close(): void }; flushIntervalTimer: NodeJS.Timeout };
};

/** How often the SDK looks for lines of its core, in milliseconds, as Node.js keeps it. */
function readInterval(collect: () => InstanceType<typeof NativeLogCollector>): number {
  const { logger, flushIntervalTimer } = collect();
  const { _idleTimeout } = flushIntervalTimer as unknown as { _idleTimeout: number };
  logger.close();
  return _idleTimeout;
}

test("the SDK, installed with rare flushes, looks for lines once a second; afterwards intervals are what they were", () => {
  const collect = () => new NativeLogCollector(new DefaultLogger("ERROR"));
  expect(readInterval(() => withRareFlushes(collect))).toBe(1_000);
  expect(readInterval(collect)).toBe(100);
});

test("intervals are what they were after an installation that failed, too", () => {
  const { setInterval } = globalThis;
  expect(() =>
    withRareFlushes(() => {
      throw new Error("no runtime");
    }),
  ).toThrow("no runtime");
  expect(globalThis.setInterval).toBe(setInterval);
});
