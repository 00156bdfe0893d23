import { flattenBody, splitBody } from "../../../domain/manifest/inputs.ts";
import type { JsonTexts } from "../../../domain/manifest/json-text.ts";
import type { JsonObject } from "../../../domain/manifest/json-values.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { listReferences } from "../../../domain/manifest/references.ts";

/**
 * Returns the values that a schedule sends: nothing was committed before they were checked. Those that name the tick or a secret are left
 * out, because a call cannot.
 */
export function findKnownValues(manifest: Manifest): { known: JsonObject; knownTexts: JsonTexts } {
  const { schedule } = manifest.triggers;
  if (schedule === null) return { known: {}, knownTexts: {} };
  const payload = flattenBody(manifest, schedule.payload) as JsonObject;
  const plain = Object.keys(payload).filter((name) => listReferences(payload[name]).length === 0);
  const texts = splitBody(manifest, schedule.payload, schedule.payloadText ?? "");
  const select = <Value>(values: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => plain.includes(name)));
  return { known: select(payload), knownTexts: select(texts) };
}
