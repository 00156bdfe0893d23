import { readResidentBytes } from "./processes.ts";

const SAMPLE_MS = 50;

/** Runs `act`; answers what it answers, its seconds, and by how many MiB a process's resident memory grew at most meanwhile. */
export async function measureGrowth<Result>(pid: number, act: () => Promise<Result>) {
  const before = await readResidentBytes(pid);
  let most = before;
  const sampling = setInterval(() => {
    void readResidentBytes(pid).then((bytes) => {
      most = Math.max(most, bytes);
    });
  }, SAMPLE_MS);
  const startedAt = performance.now();
  try {
    const result = await act();
    const seconds = (performance.now() - startedAt) / 1000;
    return { result, seconds, grewMebibytes: (most - before) / 1024 ** 2 };
  } finally {
    clearInterval(sampling);
  }
}
