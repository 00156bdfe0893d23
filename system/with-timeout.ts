/**
 * Returns what the promise resolves to, or what `onTimeout` returns when that takes longer than `ms` milliseconds. An
 * error of either is passed on. What the promise stands for is not ended; a later rejection of it is ignored.
 */
export async function withTimeout<Value, Late>(
  promise: PromiseLike<Value>,
  ms: number,
  onTimeout: () => Late | PromiseLike<Late>,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([promise, late.then(onTimeout)]);
  } finally {
    // A timer left over would keep the process alive, and call `onTimeout` for work that is done.
    clearTimeout(timer);
  }
}
