/** What some system does not take in the name of a file, or reads as a way to another folder. */
const UNSAFE = /[\p{Cc}\p{Cf}\\:*?"<>|]/gu;
/** Windows drops these at the end of a name. */
const AT_THE_END = /[. ]+$/;
/** Devices of Windows, with any ending. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/**
 * Returns paths for the files of an archive, in the same order. Every system can unpack them: none leads out of the folder, none is the
 * folder of another, and no two differ only in capital letters.
 */
export function toArchiveNames(names: readonly string[]): string[] {
  const paths = names.map((name) => name.split("/").filter(Boolean).map(toSafeName).join("/"));
  // A file that has the name of a folder could not be unpacked beside it.
  const taken = new Set(paths.flatMap(listFolders).map(toKey));
  return paths.map((safe) => {
    const dot = safe.lastIndexOf(".");
    const [stem, ending] = dot > safe.lastIndexOf("/") + 1 ? [safe.slice(0, dot), safe.slice(dot)] : [safe, ""];
    let free = safe;
    for (let count = 2; taken.has(toKey(free)); count += 1) free = `${stem} (${count})${ending}`;
    taken.add(toKey(free));
    return free;
  });
}

/** Of one segment of a path. Of `.` and `..` nothing is left. */
function toSafeName(name: string): string {
  const safe = name.replace(UNSAFE, "_").replace(AT_THE_END, "_");
  return DEVICE.test(safe) ? `_${safe}` : safe;
}

function listFolders(path: string): string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, at) => segments.slice(0, at + 1).join("/"));
}

function toKey(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
