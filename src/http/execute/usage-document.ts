import type { Usage } from "../../../db/executions/usage.ts";
import type { Limits } from "../../../domain/manifest/manifest.ts";

/** What executions of a workflow used at most, beside what its manifest allows each. Nothing before the first has ended. */
export function toUsageDocument(usage: Usage | undefined, { timeoutSeconds, memoryBytes, cpu }: Limits) {
  if (usage === undefined) return undefined;
  return {
    basedOn: usage.executions,
    seconds: usage.seconds,
    memoryBytes: usage.memoryBytes,
    processorSeconds: usage.processorSeconds,
    limits: { timeoutSeconds, memoryBytes, cpu },
  };
}
