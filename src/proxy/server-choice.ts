import { mayStillServe } from '../health/health-state.ts';
import type { MayBeAsked, ServerHealth } from '../health/server-health.ts';
import type { Destination } from '../request/destination.ts';
import type { OtherVersion } from '../request/inbound.ts';
import type { VersionChoice } from '../routing/decision.ts';
import { isOlder } from '../routing/preferred-version.ts';
import type { RoutingServer, RoutingTable } from '../snapshot/routing-table/routing-table.ts';

export interface Candidates {
  readonly candidates: readonly RoutingServer[];
  readonly isInOrder?: boolean | undefined;
  readonly versions?: VersionChoice | undefined;
}

export const noCandidates: Candidates = { candidates: [] };

export interface Choice {
  readonly server: RoutingServer;
  readonly destination: Destination | undefined;
  /** The version that responds in place of the preferred one; left out where it does not matter, or it is that one. */
  readonly otherVersion?: OtherVersion | undefined;
}

interface ServerChoiceOptions {
  readonly load: Pick<ServerLoad, 'inFlight' | 'isAvoided'>;
  readonly health?: Pick<ServerHealth, 'mayBeAsked' | 'is'> | undefined;
  /** In [0, 1). */
  readonly random: () => number;
  readonly local?: Destination | undefined;
}

export class ServerChoice {
  readonly #options: ServerChoiceOptions;

  constructor(options: ServerChoiceOptions) {
    this.#options = options;
  }

  /**
   * One of the candidates; where the version matters and no candidate is healthy, one of the next version that has a
   * healthy server. With no healthy server at all a candidate is tried all the same: its `/readyz` may be wrong.
   * @param except one that was tried already
   */
  choose(
    { candidates, isInOrder = false, versions }: Candidates,
    except?: RoutingServer,
  ): Choice | undefined {
    const first =
      (isInOrder
        ? candidates.find((each) => each !== except && this.mayBeAsked(each) === 'first')
        : undefined) ?? this.#drawTwo(candidates, except);
    if (versions === undefined) return first && this.#choiceOf(first);
    // A slow server is asked for a while all the same: other routers still ask it, and it would drop the fields that a
    // server of another version stores meanwhile.
    if (
      first !== undefined &&
      (this.mayBeAsked(first) === 'first' || this.#options.health?.is(first.id, mayStillServe) === true)
    ) {
      return this.#choiceOf(first, versions, versions.asked);
    }
    let last = first && this.#choiceOf(first, versions, versions.asked);
    for (const { minor, reachable } of versions.others) {
      const other = this.#drawTwo(reachable, except);
      if (other === undefined) continue;
      if (this.mayBeAsked(other) === 'first') return this.#choiceOf(other, versions, minor);
      last ??= this.#choiceOf(other, versions, minor);
    }
    return last;
  }

  mayBeAsked({ id }: RoutingServer): MayBeAsked {
    const { load, health } = this.#options;
    const may = health?.mayBeAsked(id) ?? 'first';
    return may === 'first' && load.isAvoided(id) ? 'last' : may;
  }

  /**
   * Of two drawn at random the one with fewer requests in flight (Mitzenmacher, "The Power of Two Choices in Randomized Load
   * Balancing"). Servers that may be asked last count only when all are such. Allocates nothing, however many
   * candidates there are.
   * @param except one that was tried already
   */
  #drawTwo(candidates: readonly RoutingServer[], except?: RoutingServer): RoutingServer | undefined {
    const { random, load } = this.#options;
    let best: RoutingServer | undefined;
    let isBestFirst = false;
    for (let draw = 0; draw < 2 && draw < candidates.length; draw++) {
      const start = Math.floor(random() * candidates.length);
      let drawn: RoutingServer | undefined;
      let isFirst = false;
      for (let step = 0; step < candidates.length && !isFirst; step++) {
        const candidate = candidates[(start + step) % candidates.length];
        if (candidate === undefined || candidate === except || candidate === best) continue;
        const may = this.mayBeAsked(candidate);
        isFirst = may === 'first';
        if (isFirst || (may === 'last' && drawn === undefined)) drawn = candidate;
      }
      if (drawn === undefined) break;
      // Of two that are alike the one with fewer in flight; else the one that may be asked as any other.
      const isLess = best === undefined || load.inFlight(drawn.id) < load.inFlight(best.id);
      if (isFirst === isBestFirst ? isLess : isFirst) {
        best = drawn;
        isBestFirst = isFirst;
      }
    }
    return best;
  }

  #choiceOf(server: RoutingServer, versions?: VersionChoice, minor?: string): Choice {
    const { local } = this.#options;
    const destination = server.id === local?.id ? local : peerDestination(server);
    if (versions === undefined || minor === versions.preferred) return { server, destination };
    return { server, destination, otherVersion: { minor, isOlder: isOlder(minor, versions.preferred) } };
  }
}

/** How long a server that could not be reached, and is not probed, is avoided while others can be. Milliseconds. */
const avoidFor = 5_000;

/**
 * Requests in flight, and which servers could not be reached lately, as far as no probes tell (`ServerHealth`). Held by ID, so
 * it outlives the routing table.
 */
export class ServerLoad {
  readonly #inFlight = new Map<string, number>();
  readonly #avoidUntil = new Map<string, number>();
  readonly #clock: () => number;

  /** @param clock milliseconds of a clock that only rises: one that is set back would avoid a server for hours. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Counts a request as in flight until the returned function is called (once; later calls do nothing). */
  begin(id: string): () => void {
    this.#inFlight.set(id, this.inFlight(id) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = this.inFlight(id) - 1;
      if (left > 0) this.#inFlight.set(id, left);
      else this.#inFlight.delete(id);
    };
  }

  inFlight(id: string): number {
    return this.#inFlight.get(id) ?? 0;
  }

  reached(id: string): void {
    this.#avoidUntil.delete(id);
  }

  notReached(id: string): void {
    const now = this.#clock();
    // Servers come and go: what is over is forgotten here, where there are few.
    for (const [other, until] of this.#avoidUntil) if (until <= now) this.#avoidUntil.delete(other);
    this.#avoidUntil.set(id, now + avoidFor);
  }

  isAvoided(id: string): boolean {
    const until = this.#avoidUntil.get(id);
    if (until === undefined) return false;
    if (this.#clock() < until) return true;
    this.#avoidUntil.delete(id);
    return false;
  }
}

export function peerDestination(server: RoutingServer): Destination | undefined {
  if (server.origin === undefined) return undefined;
  return {
    kind: 'peer',
    id: server.id,
    origin: server.origin,
    serverName: server.serverName,
    trust: { kind: 'peer-ca' },
  };
}

/** Everywhere this router may still send to. */
export function destinationsOf(local: Destination | undefined, table: RoutingTable): readonly Destination[] {
  const peers = table.servers.flatMap((server) => peerDestination(server) ?? []);
  return local === undefined ? peers : [local, ...peers];
}
