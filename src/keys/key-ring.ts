import { statSync } from "node:fs";
import { repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";
import { loadOrCreateKey, readKey } from "./key-file.ts";
import { createSecretBox, type SecretBox } from "./secret-box.ts";

/** The files of an installation's master key while it is rotated, from the path of the key itself. */
export function keyFilesOf(file: string): { readonly next: string; readonly previous: string } {
  return { next: `${file}.next`, previous: `${file}.previous` };
}

/** The master keys that a process has: one seals, and the others open while the key is rotated. */
export interface KeyRing {
  readonly box: SecretBox;
  /** The ids of the keys, that which seals first. */
  ids(): readonly string[];
  /** Reads the files again. Rejects, and changes nothing, while they cannot be used. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** How soon a process has a new master key that is put beside the one before. */
const READ_EVERY_MS = 2_000;

/** Names a key without showing anything of it. */
export function idOfKey(box: Pick<SecretBox, "sign">): string {
  return box.sign("master key").slice(0, 16);
}

/** Opens the key in `file`, made at first use, and those beside it. Looks at them every two seconds until it is closed. */
export async function openKeyRing(file: string, log: Pick<Log, "warn">): Promise<KeyRing> {
  const { next, previous } = keyFilesOf(file);
  let boxes: readonly SecretBox[] = [createSecretBox(await loadOrCreateKey(file))];
  const reload = async (): Promise<void> => {
    // In this order: the next key becomes the current one by a rename, and is in one of the two files at any time.
    const others = [await readKey(next), await readKey(previous)].filter((key) => key !== undefined);
    const current = await readKey(file);
    if (current === undefined) throw new Error(`The master key ${file} is gone. Put it back: what it sealed needs it.`);
    boxes = [current, ...others].map(createSecretBox);
  };
  await reload();
  let seen = describeFiles([file, next, previous]);
  const reloadChanged = async (): Promise<void> => {
    const found = describeFiles([file, next, previous]);
    if (found === seen) return;
    await reload();
    seen = found;
  };
  const reading = repeat(reloadChanged, {
    everyMs: READ_EVERY_MS,
    first: "later",
    onError: (error) =>
      log.warn({ event: "fault", error }, "The master key cannot be read again; the one before stays."),
  });
  const sealing = (): SecretBox => boxes[0] as SecretBox;
  return {
    ids: () => boxes.map(idOfKey),
    reload,
    close: reading.close,
    box: {
      seal: (plain, context) => sealing().seal(plain, context),
      sign: (text) => sealing().sign(text),
      isSignature: (text, signature) => boxes.some((box) => box.isSignature(text, signature)),
      open: (box, context) => openWithAny(boxes, box, context),
    },
  };
}

/** Returns a text that changes when one of the files is written, replaced, opened to others or removed. */
function describeFiles(paths: readonly string[]): string {
  return paths
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((info) => (info === undefined ? "none" : `${info.ino} ${info.size} ${info.mtimeMs} ${info.mode} ${info.uid}`))
    .join("; ");
}

function openWithAny(boxes: readonly SecretBox[], box: Buffer, context: string): Buffer {
  const failures: unknown[] = [];
  for (const each of boxes) {
    try {
      return each.open(box, context);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}
