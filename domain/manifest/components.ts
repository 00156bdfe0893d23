/**
 * Returns for each node that can be reached from `starts` the number of its strongly connected component. Two nodes
 * have the same one when each can be reached from the other. Tarjan's algorithm without recursion; time grows with
 * nodes and edges.
 */
export function findComponents(
  starts: Iterable<number>,
  follow: (node: number) => readonly number[],
): ReadonlyMap<number, number> {
  const components = new Map<number, number>();
  const order = new Map<number, number>();
  const lowest = new Map<number, number>();
  const open: number[] = [];
  const path: { node: number; next: number; targets: readonly number[] }[] = [];
  const enter = (node: number): void => {
    order.set(node, order.size);
    lowest.set(node, order.size - 1);
    open.push(node);
    path.push({ node, next: 0, targets: follow(node) });
  };
  const lower = (node: number, to: number): void => {
    if (to < (lowest.get(node) as number)) lowest.set(node, to);
  };

  for (const start of starts) {
    if (!order.has(start)) enter(start);
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const target = step.targets[step.next];
      step.next += 1;
      if (target !== undefined) {
        if (!order.has(target)) enter(target);
        else if (!components.has(target)) lower(step.node, order.get(target) as number);
        continue;
      }
      path.pop();
      const { node } = step;
      const least = lowest.get(node) as number;
      const above = path.at(-1);
      if (above !== undefined) lower(above.node, least);
      if (least !== order.get(node)) continue;
      for (let member = open.pop() as number; ; member = open.pop() as number) {
        components.set(member, least);
        if (member === node) break;
      }
    }
  }
  return components;
}
