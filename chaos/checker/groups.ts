/** The items by their key, each group in their order. Items without a key are left out. */
export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | null | undefined,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key == null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
