// What a thread of `threads.ts` runs: functions of ours, each named by its module and its name in it. Plain JavaScript, so that a
// thread can start from the sources, too; there the test runner gives it a loader for TypeScript.
import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";

// Of this thread alone. Without it a call that costs a second of it holds up all others where there is no processor to spare.
setPriority(10);

parentPort.on("message", ({ module, name, input }) => {
  import(module)
    .then((functions) => functions[name](input))
    .then(
      (output) => parentPort.postMessage({ ok: true, output }, findOwnBuffer(output)),
      (error) => parentPort.postMessage({ ok: false, error }),
    );
});

/** Bytes that fill their memory are handed over instead of copied. */
function findOwnBuffer(output) {
  return output instanceof Uint8Array && output.byteLength === output.buffer.byteLength ? [output.buffer] : [];
}
