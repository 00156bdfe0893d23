/**
 * Does some work for each item, at most `count` at a time, and takes an item only when there is room for it. After a
 * failure it takes no more items. It then waits for the work under way and rejects with the first failure, so that what
 * was begun can be removed safely. The package p-map rejects while the other calls still run: a caller that then deletes
 * its folder would do so under them.
 */
export async function forEachAtOnce<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  count: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let hasFailed = false;
  const workOff = async (): Promise<void> => {
    try {
      for (let next = await left.next(); next.done !== true && !hasFailed; next = await left.next())
        await work(next.value);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: count }, workOff));
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
