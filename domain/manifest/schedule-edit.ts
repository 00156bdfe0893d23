import { Document, isMap, type Node, type Pair, type YAMLMap } from "yaml";
import { DEFAULT_BOUNDS } from "./bounds.ts";
import { readConfigDocument } from "./document.ts";
import { isExact } from "./json-text.ts";
import { isJsonObject, toStableJson } from "./json-values.ts";
import {
  appendLines,
  editConfig,
  findPair,
  insertIntoMap,
  type Replacement,
  rangeOf,
  replaceValue,
  type TriggerEdit,
} from "./trigger-edit.ts";

/** When `triggers.schedule` is due, and with which inputs. */
export interface WantedSchedule {
  readonly cron: string;
  readonly timezone: string;
  /** A JSON object as text: its numbers keep their digits. */
  readonly payload: string;
}

/** The payload of a schedule that has none. */
const NO_PAYLOAD = "{}";

/**
 * A `config.yaml` whose `triggers.schedule` has this expression, zone and payload. Its other keys stay, and so do comments and layout
 * elsewhere. A schedule that was not there is enabled. `payload` must be valid JSON.
 */
export function editSchedule(source: string, wanted: WantedSchedule): TriggerEdit {
  const edit = editConfig(source, "change the schedule", (root) => findChanges(source, root, wanted));
  if (!edit.ok || isAsWanted(edit.text, wanted)) return edit;
  return { ok: false, message: "The schedule in config.yaml is laid out in an unusual way. Change it there." };
}

function findChanges(source: string, root: YAMLMap | undefined, wanted: WantedSchedule): Replacement | Replacement[] {
  const triggers = root && findPair(root, "triggers");
  const section = isMap(triggers?.value) ? findPair(triggers.value, "schedule") : undefined;
  if (isMap(section?.value) && section.value.items.length > 0) return changeKeys(source, section.value, wanted);
  const inBraces = `{ enabled: true, ${toLines(wanted).join(", ")} }`;
  if (section !== undefined) return replaceValue(source, section, inBraces);
  const block = (indent: string): string =>
    ["schedule:", ...["enabled: true", ...toLines(wanted)].map((line) => `${indent}  ${line}`)].join("\n");
  if (isMap(triggers?.value)) {
    const { value } = triggers;
    if (value.flow || value.items.length === 0) return insertIntoMap(source, value, `schedule: ${inBraces}`);
    return insertIntoMap(source, value, block(indentOf(source, value)));
  }
  if (triggers !== undefined) return replaceValue(source, triggers, `{ schedule: ${inBraces} }`);
  if (root?.flow) return insertIntoMap(source, root, `triggers: { schedule: ${inBraces} }`);
  return appendLines(source, `triggers:\n  ${block("  ")}\n`);
}

function toLines({ cron, timezone, payload }: WantedSchedule): string[] {
  const lines = [`cron: ${JSON.stringify(cron)}`, `timezone: ${timezone}`];
  return isEmpty(payload) ? lines : [...lines, `payload: ${toBraces(payload)}`];
}

function isEmpty(payload: string): boolean {
  return toStableJson(JSON.parse(payload)) === NO_PAYLOAD;
}

/** Changes the keys whose values are others now. */
function changeKeys(source: string, map: YAMLMap, wanted: WantedSchedule): Replacement[] {
  const old = readSchedule(source);
  const changes: Replacement[] = [];
  const missing: string[] = [];
  const put = (key: string, isSame: boolean, text: string): void => {
    const pair = findPair(map, key);
    if (isSame) return;
    if (pair === undefined) missing.push(`${key}: ${text}`);
    else
      changes.push(
        isMap(pair.value) && !pair.value.flow ? replaceBlock(source, pair, text) : replaceValue(source, pair, text),
      );
  };
  const { cron, timezone, payload } = wanted;
  put("cron", old["cron"] === cron, JSON.stringify(cron));
  put("timezone", (old["timezone"] ?? "UTC") === timezone, timezone);
  put("payload", toStableJson(old["payload"] ?? {}) === toStableJson(JSON.parse(payload)), toBraces(payload));
  if (missing.length === 0) return changes;
  const separator = map.flow ? ", " : `\n${indentOf(source, map)}`;
  return [...changes, insertIntoMap(source, map, missing.join(separator))];
}

/** In place of lines below a key, on its own line. */
function replaceBlock(source: string, pair: Pair<unknown, unknown>, text: string): Replacement {
  const colon = source.indexOf(":", rangeOf(pair.key as Node)[1]);
  const [, end] = rangeOf(pair.value as Node);
  const lines = source.slice(colon + 1, end);
  return { start: colon + 1, end: end - (/\s*$/.exec(lines)?.[0].length ?? 0), text: ` ${text}` };
}

function indentOf(source: string, map: YAMLMap): string {
  const [start] = rangeOf(map.items[0]?.key as Node);
  return source.slice(source.lastIndexOf("\n", start - 1) + 1, start).replaceAll(/[^ ]/g, " ");
}

/** As YAML in braces, on one line. What JavaScript's numbers cannot say stays as it is written: JSON is YAML, too. */
function toBraces(payload: string): string {
  // A line break in JSON is never within a text.
  if (!isExact(payload)) return payload.trim().replaceAll(/\s*[\r\n]\s*/g, " ");
  const document = new Document(JSON.parse(payload), { version: "1.2", schema: "core" });
  if (isMap(document.contents)) document.contents.flow = true;
  return document.toString({ lineWidth: 0 }).trim();
}

function isAsWanted(source: string, { cron, timezone, payload }: WantedSchedule): boolean {
  const written = readSchedule(source);
  const isSame = toStableJson(written["payload"] ?? {}) === toStableJson(JSON.parse(payload));
  return isSame && written["cron"] === cron && (written["timezone"] ?? "UTC") === timezone;
}

/** What `triggers.schedule` holds; nothing where it is no map. */
function readSchedule(source: string): Readonly<Record<string, unknown>> {
  let value = readConfigDocument(source, DEFAULT_BOUNDS.configBytesMax).value;
  for (const key of ["triggers", "schedule"]) value = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(value) ? value : {};
}
