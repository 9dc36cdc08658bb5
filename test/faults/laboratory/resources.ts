import { eventually } from '../../support/eventually.ts';

/** Resources that keep a process alive, by kind: sockets, servers, timers. */
function activeResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/**
 * Watches over what an experiment leaves behind.
 * @returns waits until everything that has come since has gone. @throws naming what has not.
 */
export function watchResources(): () => Promise<void> {
  const before = activeResources();
  const leftOver = (): string[] =>
    [...activeResources()]
      .filter(([kind, count]) => count > (before.get(kind) ?? 0))
      .map(([kind, count]) => `${count - (before.get(kind) ?? 0)} ${kind}`);
  return async () => {
    try {
      await eventually(() => leftOver().length === 0);
    } catch {
      throw new Error(`left behind: ${leftOver().join(', ')}`);
    }
  };
}
