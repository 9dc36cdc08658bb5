/** Lets everything that waits have its turn: work that takes tens of milliseconds must not hold up requests. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
