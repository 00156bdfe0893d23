const AGAIN_MS = 2_000;

/**
 * Fetches a part of the editor. While the service is away it is tried again until the part is there, since a page that has
 * given up would have to be loaded anew, with everything that is entered in it. Rejects when the service is there and has no
 * such part: the page is older than what it serves.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      if (await isServiceThere()) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

function isServiceThere(): Promise<boolean> {
  return fetch("/", { method: "HEAD", cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
}
