import type { RoutingServer } from '../snapshot/routing-table.ts';

/** What the choice looks at. */
export interface ServerState {
  inFlight(id: string): number;
  /** Unhealthy: taken only when nothing else is left. */
  isAvoided(id: string): boolean;
}

/**
 * One of `candidates`: of two drawn at random the one with fewer requests in flight (Mitzenmacher, "The
 * Power of Two Choices in Randomized Load Balancing"). Servers to be avoided count only when all are, so
 * that bad luck with health never empties the pool. `except` is one that was tried already.
 *
 * @param random in [0, 1)
 */
export function chooseServer(
  candidates: readonly RoutingServer[],
  state: ServerState,
  random: () => number,
  except?: RoutingServer,
): RoutingServer | undefined {
  // The usual case, one peer, costs nothing.
  if (candidates.length === 1) return candidates[0] === except ? undefined : candidates[0];
  const others = except === undefined ? candidates : candidates.filter((server) => server !== except);
  const preferred = others.filter((server) => !state.isAvoided(server.id));
  const pool = preferred.length > 0 ? preferred : others;
  if (pool.length <= 1) return pool[0];

  const firstIndex = Math.floor(random() * pool.length);
  // Drawn from the rest, so that the two differ.
  const secondIndex = (firstIndex + 1 + Math.floor(random() * (pool.length - 1))) % pool.length;
  const first = pool[firstIndex];
  const second = pool[secondIndex];
  if (first === undefined || second === undefined) return first ?? second;
  return state.inFlight(second.id) < state.inFlight(first.id) ? second : first;
}
