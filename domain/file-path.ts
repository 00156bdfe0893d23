import { countBytes } from "./manifest/file-names.ts";

export const SEGMENT_BYTES_MAX = 255;
export const PATH_BYTES_MAX = 1024;
const DEPTH_MAX = 50;

const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;
/** Code points that HFS+ ignores in names: `.g\u200cit` is `.git` there. The list is the one of Apple's technical note 1150. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const REPLACEMENT_CHARACTER = "\ufffd";
const HALF_OF_A_PAIR = /\p{Surrogate}/u;

/** Why a path cannot be part of a commit, in words for its author; undefined when it can. */
export function findPathProblem(path: string): string | undefined {
  if (path === "") return "A file has no name.";
  if (path.includes(REPLACEMENT_CHARACTER) || HALF_OF_A_PAIR.test(path)) {
    return "The name is not valid UTF-8. Rename the file.";
  }
  if (CONTROL_CHARACTERS.test(path)) return "The name has a control character. Rename the file.";
  if (path.includes("\\")) return "The name has a backslash. Use forward slashes between folders.";
  if (path.startsWith("/")) return "The path is absolute. Paths start at the workflow's folder.";
  if (countBytes(path) > PATH_BYTES_MAX) return `The path is longer than ${PATH_BYTES_MAX} bytes.`;
  const segments = path.split("/");
  if (segments.length > DEPTH_MAX) return `The path is more than ${DEPTH_MAX} folders deep.`;
  for (const segment of segments) {
    const problem = findSegmentProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findSegmentProblem(segment: string): string | undefined {
  if (segment === "") return "The path has an empty segment (two slashes in a row, or one at the end).";
  if (segment === "." || segment === "..") return `The path has a ${JSON.stringify(segment)} segment.`;
  if (countBytes(segment) > SEGMENT_BYTES_MAX) return `A name is longer than ${SEGMENT_BYTES_MAX} bytes.`;
  if (isGitFolder(segment)) return "A name means git's own folder (.git, in any spelling). Leave it out.";
  return undefined;
}

/** `.git` as any file system may read it: other case, ignorable characters, trailing dots and spaces, NTFS streams and short names. */
function isGitFolder(segment: string): boolean {
  const folded = segment.replace(IGNORED_BY_HFS, "").toLowerCase();
  const plain = folded.replace(/:.*$/, "").replace(/[. ]+$/, "");
  return plain === ".git" || plain === "git~1";
}

/** Two paths with the same fold are the same file on a file system that ignores case or normalises names. */
export function foldPath(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
