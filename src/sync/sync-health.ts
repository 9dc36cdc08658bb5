import { type HealthCheck, ping } from '../own-paths/health-checks/health.ts';
import type { SyncStatus } from './sync-loop.ts';

/** Milliseconds. Rounds start every second and wait at most two seconds for slow servers. */
const longestWithoutRound = 30_000;

/**
 * The checks of a sync job. livez: it runs. readyz: it reads servers and, if it leads, at least one target holds its
 * snapshot. A single router that is down does not make the sync job unready.
 *
 * @param status the current status; `undefined` before the loop starts
 * @param now milliseconds since the epoch
 */
export function syncHealth(
  status: () => SyncStatus | undefined,
  now: () => number,
): { readonly livez: readonly HealthCheck[]; readonly readyz: readonly HealthCheck[] } {
  const rounds: HealthCheck = {
    name: 'rounds',
    check() {
      const lastRoundAt = status()?.lastRoundAt;
      if (lastRoundAt === undefined) return 'no round has ended yet';
      const age = now() - lastRoundAt;
      return age > longestWithoutRound ? `the last round ended ${Math.round(age / 1000)} s ago` : undefined;
    },
  };
  const servers: HealthCheck = {
    name: 'servers',
    check() {
      const known = status()?.servers ?? [];
      return known.some(({ state }) => state === 'current') ? undefined : 'no API server can be read';
    },
  };
  const deliveries: HealthCheck = {
    name: 'deliveries',
    check() {
      const current = status();
      // A standby delivers nothing.
      if (current?.leader === false) return undefined;
      return current?.targets.some(({ heldGeneration }) => heldGeneration !== undefined) === true
        ? undefined
        : 'no target holds the snapshot';
    },
  };
  return { livez: [ping], readyz: [ping, rounds, servers, deliveries] };
}
