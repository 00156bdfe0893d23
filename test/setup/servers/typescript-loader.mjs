// Lets plain `node --import` run our TypeScript in a process of its own, as jest does inside its process.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transformSync } from "@swc/core";

if (isMainThread) register(import.meta.url);

export function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const { code } = transformSync(readFileSync(fileURLToPath(url), "utf8"), {
    filename: fileURLToPath(url),
    jsc: { target: "es2023", parser: { syntax: "typescript" } },
    module: { type: "es6" },
  });
  return { format: "module", source: code, shortCircuit: true };
}
