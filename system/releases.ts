/** Takes what closes something again; called in reverse order. */
export type Defer = (release: () => unknown) => void;

/**
 * Opens things in order and closes them in reverse, also when opening one of them failed. Throws the error of a failed
 * opening.
 */
export async function withReleases<T>(open: (defer: Defer) => Promise<T>): Promise<T> {
  const releases: (() => unknown)[] = [];
  try {
    const answer = await open((release) => releases.push(release));
    const errors = await releaseAll(releases);
    if (errors.length > 0) throw new AggregateError(errors, "Not everything could be closed.");
    return answer;
  } catch (error) {
    await releaseAll(releases);
    throw error;
  }
}

async function releaseAll(releases: (() => unknown)[]): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (let release = releases.pop(); release !== undefined; release = releases.pop()) {
    try {
      await release();
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}
