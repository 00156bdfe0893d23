/** Decimal units as on disks and in `design`; the binary ones have their own names, so that neither is guessed. */
const UNIT_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1_000,
  mb: 1_000_000,
  gb: 1_000_000_000,
  tb: 1_000_000_000_000,
  kib: 1_024,
  mib: 1_048_576,
  gib: 1_073_741_824,
  tib: 1_099_511_627_776,
};

/** Whole bytes of `50MB` (decimal), `1GiB` (binary), `1.5 GB`, or of a number, which counts bytes. Undefined for anything else. */
export function parseSize(value: string | number): number | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  const match = /^(\d{1,12}(?:\.\d{1,3})?) ?([KMGT]i?B|B)$/i.exec(value.trim());
  if (!match) return undefined;
  const [, amount, unit] = match;
  const bytes = Math.round(Number(amount) * (UNIT_BYTES[(unit as string).toLowerCase()] as number));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Bytes as people write them: the largest unit that needs at most two decimals, binary only where it is exact. */
export function formatSize(bytes: number): string {
  for (const [unit, size] of [
    ["TiB", UNIT_BYTES["tib"]],
    ["GiB", UNIT_BYTES["gib"]],
    ["MiB", UNIT_BYTES["mib"]],
  ] as const) {
    if (bytes >= (size as number) && bytes % (size as number) === 0) return `${bytes / (size as number)} ${unit}`;
  }
  return formatBytes(bytes);
}

/** Measured bytes, in decimal units alone: a file of 300 MiB and what is sent of it are to be compared. */
export function formatBytes(bytes: number): string {
  for (const [unit, size] of [
    ["TB", 1_000_000_000_000],
    ["GB", 1_000_000_000],
    ["MB", 1_000_000],
    ["kB", 1_000],
  ] as const) {
    if (bytes >= size) return `${Math.round((bytes / size) * 100) / 100} ${unit}`;
  }
  return bytes === 1 ? "1 byte" : `${bytes} bytes`;
}
