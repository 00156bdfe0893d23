const AGAIN_MS = 2_000;

/**
 * Fetches a part of the editor. Retries while the service is away: a page that gave up would have to be loaded anew, and
 * would lose everything entered in it. Rejects when the service is there and twice had no such part: the page is older than
 * what it serves. Once is not enough, as it may have come back just after the first.
 */
export async function loadPart<Part>(load: () => Promise<Part>, isThere = isServiceThere): Promise<Part> {
  for (let misses = 0; ; ) {
    try {
      return await load();
    } catch (error) {
      misses = (await isThere()) ? misses + 1 : 0;
      if (misses === 2) throw error;
      if (misses === 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

function isServiceThere(): Promise<boolean> {
  // Of no cache: nobody has asked for just this before.
  return fetch(`/?asked=${Date.now()}`, { method: "HEAD" }).then(
    ({ ok }) => ok,
    () => false,
  );
}
