import type { RequestInfo } from '../apimachinery/request-info.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import type { Destination } from '../request/destination.ts';
import type { OtherVersion } from '../request/inbound.ts';
import type { VersionChoice } from '../routing/decision.ts';
import { isOlder } from '../routing/preferred-version.ts';
import type { ServerBook } from '../servers/server-book.ts';
import { type MayBeAsked, mayStillServe } from '../servers/server-standing.ts';
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
  readonly load: Pick<ServerLoad, 'of' | 'isAvoided'>;
  readonly health?: Pick<ServerBook, 'mayBeAsked' | 'is'> | undefined;
  /** In [0, 1). */
  readonly random: () => number;
  readonly local?: Destination | undefined;
}

const nobody: ReadonlySet<RoutingServer> = new Set();

export class ServerChoice {
  readonly #options: ServerChoiceOptions;

  constructor(options: ServerChoiceOptions) {
    this.#options = options;
  }

  /**
   * One of the candidates; where the version matters and no candidate is healthy, one of the next version that has a
   * healthy server. With no healthy server at all a candidate is tried all the same: its `/readyz` may be wrong.
   * @param kind of the request: each kind is spread by its own load
   * @param asked servers that have been tried already
   */
  choose(
    { candidates, isInOrder = false, versions }: Candidates,
    kind: LoadKind,
    asked: ReadonlySet<RoutingServer> = nobody,
  ): Choice | undefined {
    const first =
      (isInOrder
        ? candidates.find((each) => !asked.has(each) && this.mayBeAsked(each) === 'first')
        : undefined) ?? this.#drawTwo(candidates, kind, asked);
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
      const other = this.#drawTwo(reachable, kind, asked);
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
   * The one with less load of two servers drawn at random (Mitzenmacher, "The Power of Two Choices in Randomized Load
   * Balancing"). Servers that may be asked last count only when all are such. Allocates nothing, however many
   * candidates there are.
   */
  #drawTwo(
    candidates: readonly RoutingServer[],
    kind: LoadKind,
    asked: ReadonlySet<RoutingServer>,
  ): RoutingServer | undefined {
    const { random, load } = this.#options;
    let best: RoutingServer | undefined;
    let isBestFirst = false;
    for (let draw = 0; draw < 2 && draw < candidates.length; draw++) {
      const start = Math.floor(random() * candidates.length);
      let drawn: RoutingServer | undefined;
      let isFirst = false;
      for (let step = 0; step < candidates.length && !isFirst; step++) {
        const candidate = candidates[(start + step) % candidates.length];
        if (candidate === undefined || candidate === best || asked.has(candidate)) continue;
        const may = this.mayBeAsked(candidate);
        isFirst = may === 'first';
        if (isFirst || (may === 'last' && drawn === undefined)) drawn = candidate;
      }
      if (drawn === undefined) break;
      // The server with less load wins where both are alike; else the one that may be asked as any other.
      const isLess = best === undefined || load.of(drawn.id, kind) < load.of(best.id, kind);
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
 * A watch is no work of the moment: a server that has just been started has none, and would draw every short request for as long
 * as the watches of the others last. kube-apiserver counts them apart for the same reason (pkg/server/filters/maxinflight.go).
 */
export type LoadKind = 'short' | 'longRunning';

export function loadKindOf(requestInfo: RequestInfo): LoadKind {
  return isLongRunning(requestInfo) ? 'longRunning' : 'short';
}

/** One server's requests of one kind. */
interface Load {
  inFlight: number;
  /** Heads so far. */
  responses: number;
  /** Refused requests that still count, at the instant `refusedAt`. Each fades from there on. */
  refused: number;
  refusedAt: number;
}

const nothing: Readonly<Load> = { inFlight: 0, responses: 0, refused: 0, refusedAt: 0 };

/** Milliseconds over which a refused watch fades: a client asks again within seconds (client-go, reflector's back-off). */
const watchFadesIn = 30_000;
/** Weight of one more response in the mean time that responses take. */
const weight = 0.05;
/** Milliseconds: a client that is slow to send its request says nothing of servers. */
const longestCounted = 5_000;

/**
 * Load of each server, and which servers could not be reached lately, as far as no probes tell (`ServerBook`). Held by ID, so
 * it outlives the routing table.
 *
 * A request that is refused at once frees its server at once, which looks like capacity: the server would draw more the more it
 * refuses. So a refused request counts for as long as one that is carried out takes, on average of all servers.
 */
export class ServerLoad {
  readonly #loads: Record<LoadKind, Map<string, Load>> = { short: new Map(), longRunning: new Map() };
  readonly #avoidUntil = new Map<string, number>();
  readonly #clock: () => number;
  /** Milliseconds from sending a short request to the head of its response, where that was a success. */
  #meanTime = 0;

  /** @param clock milliseconds of a clock that only rises: one that is set back would avoid a server for hours. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** A request is sent to the server: in flight until `end` is called on what is returned. */
  begin(id: string, kind: LoadKind): RequestLoad {
    let load = this.#loads[kind].get(id);
    if (load === undefined) {
      this.#forget(kind);
      load = { ...nothing };
      this.#loads[kind].set(id, load);
    }
    load.inFlight += 1;
    return new RequestLoad(load, this, kind, this.#clock());
  }

  /** @param status of the head of a response to a request that was sent at `begunAt` */
  responded(load: Load, kind: LoadKind, status: number, begunAt: number): void {
    load.responses += 1;
    const now = this.#clock();
    const took = now - begunAt;
    if (status < 400) {
      if (kind === 'longRunning') return;
      const counted = Math.min(took, longestCounted);
      this.#meanTime = this.#meanTime === 0 ? counted : this.#meanTime + weight * (counted - this.#meanTime);
      return;
    }
    const whole = this.#wholeOf(kind);
    if (took >= whole) return;
    load.refused = this.#refusedOf(load, kind, now) + 1 - took / whole;
    load.refusedAt = now;
  }

  /** @returns requests in flight; at a server that has refused some lately, a fraction more */
  of(id: string, kind: LoadKind): number {
    const load = this.#loads[kind].get(id);
    if (load === undefined) return 0;
    return load.refused === 0 ? load.inFlight : load.inFlight + this.#refusedOf(load, kind, this.#clock());
  }

  counts(id: string, kind: LoadKind): Readonly<Pick<Load, 'inFlight' | 'responses'>> {
    return this.#loads[kind].get(id) ?? nothing;
  }

  #wholeOf(kind: LoadKind): number {
    return kind === 'short' ? this.#meanTime : watchFadesIn;
  }

  /** Refused at a steady rate, they add up to what they would if each counted in full for that long (Little's law). */
  #refusedOf({ refused, refusedAt }: Load, kind: LoadKind, now: number): number {
    return refused === 0 ? 0 : refused * Math.exp((refusedAt - now) / this.#wholeOf(kind));
  }

  /** Servers come and go. */
  #forget(kind: LoadKind): void {
    const loads = this.#loads[kind];
    for (const [id, { inFlight }] of loads) if (inFlight === 0) loads.delete(id);
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

/** One request's part in the load of its server. */
export class RequestLoad {
  readonly #load: Load;
  readonly #of: Pick<ServerLoad, 'responded'>;
  readonly #kind: LoadKind;
  readonly #begunAt: number;
  #hasEnded = false;

  constructor(load: Load, of: Pick<ServerLoad, 'responded'>, kind: LoadKind, begunAt: number) {
    this.#load = load;
    this.#of = of;
    this.#kind = kind;
    this.#begunAt = begunAt;
  }

  /** @param status of the head of the server's response */
  responded(status: number): void {
    this.#of.responded(this.#load, this.#kind, status, this.#begunAt);
  }

  /** Counts once. */
  end(): void {
    if (!this.#hasEnded) this.#load.inFlight -= 1;
    this.#hasEnded = true;
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
