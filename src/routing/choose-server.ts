import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';

/** What the choice looks at. */
export interface ServerState {
  inFlight(id: string): number;
  /** Unhealthy: taken only when nothing else is left. */
  isAvoided(id: string): boolean;
  /** Share of its part that it is to get, in (0, 1]; below 1 for a server that has just recovered. */
  weight(id: string): number;
}

/**
 * One of `candidates`: of two drawn at random the one with fewer requests in flight (Mitzenmacher, "The
 * Power of Two Choices in Randomized Load Balancing"). Servers to be avoided count only when all are, so
 * that bad luck with health never empties the pool; one in its slow start is passed over in proportion. Allocates
 * nothing, however many candidates there are.
 *
 * @param random in [0, 1)
 * @param except one that was tried already
 */
export function chooseServer(
  candidates: readonly RoutingServer[],
  state: ServerState,
  random: () => number,
  except?: RoutingServer,
): RoutingServer | undefined {
  const first = draw(candidates, state, random, except, undefined);
  if (first === undefined || candidates.length === 1) return first;
  const second = draw(candidates, state, random, except, first);
  if (second === undefined) return first;
  const firstIsAvoided = state.isAvoided(first.id);
  // The first was drawn from the preferred ones if there are any; the second may have had to do without.
  if (firstIsAvoided !== state.isAvoided(second.id)) return firstIsAvoided ? second : first;
  return state.inFlight(second.id) < state.inFlight(first.id) ? second : first;
}

/** One candidate at random, neither of the two named ones; an avoided one only if all the others are too. */
function draw(
  candidates: readonly RoutingServer[],
  state: ServerState,
  random: () => number,
  except: RoutingServer | undefined,
  drawn: RoutingServer | undefined,
): RoutingServer | undefined {
  const start = Math.floor(random() * candidates.length);
  let passedOver: RoutingServer | undefined;
  let avoided: RoutingServer | undefined;
  // Nearly always the first one looked at will do; the walk from there ends at the next that does.
  for (let step = 0; step < candidates.length; step++) {
    const candidate = candidates[(start + step) % candidates.length];
    if (candidate === undefined || candidate === except || candidate === drawn) continue;
    if (state.isAvoided(candidate.id)) {
      avoided ??= candidate;
      continue;
    }
    const weight = state.weight(candidate.id);
    if (weight === 1 || random() < weight) return candidate;
    passedOver ??= candidate;
  }
  return passedOver ?? avoided;
}
