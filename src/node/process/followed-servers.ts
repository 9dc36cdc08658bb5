import { isDeepStrictEqual } from 'node:util';
import type { OutboundOptions } from '../../proxy/outbound.ts';
import { type ProbeOptions, ServerProbe } from '../../proxy/probe.ts';
import { peerDestination } from '../../proxy/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { Logger } from '../../runtime/logger.ts';
import { systemClock } from '../../runtime/time.ts';
import {
  confirmedAt,
  type Isolation,
  isolationAt,
  notIsolated,
  provenAt,
  saysSomething,
  type UnconfirmedServers,
  type Untold,
  unconfirmed,
  untoldAt,
} from '../../servers/confirmations.ts';
import { type ConnectionEnd, connectionCloser } from '../../servers/connection-closer.ts';
import { HealthMonitor } from '../../servers/health-monitor.ts';
import { type HealthObserver, ServerBook } from '../../servers/server-book.ts';
import { isVerified } from '../../servers/server-standing.ts';
import {
  type ProbeOutcome,
  presentOf,
  type ServerEvent,
  type ServerRecord,
} from '../../servers/server-states.ts';
import { isAsTheSnapshotSays, type ServerWord } from '../../servers/server-word.ts';
import { type Answers, SilenceWatch } from '../../servers/silence-watch.ts';
import { originOf } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { HealthConfig } from '../configuration/serve-config.ts';

interface FollowedServersOptions extends OutboundOptions, Pick<ProbeOptions, 'transport' | 'logger'> {
  readonly config: HealthConfig;
  readonly local: Destination | undefined;
  readonly answersOf: (id: string) => Answers;
  readonly endConnections: (destination: Destination, how: ConnectionEnd) => void;
  /** A server says of itself what the snapshot does not say, for the first time, or has departed and is ready. */
  readonly onChanged: (id: string) => void;
}

/** Milliseconds between two looks whether this process stood still, a server is silent, and a request has waited long enough. */
const lookEvery = 250;

/** The effects of what is known of servers: probes, ends of connections, log. The knowledge itself is in the book. */
export class FollowedServers {
  readonly health: ServerBook;
  readonly #options: FollowedServersOptions;
  readonly #probe: ServerProbe;
  readonly #monitor: HealthMonitor;
  readonly #silence: SilenceWatch;
  readonly #looking: NodeJS.Timeout;
  #table: RoutingTable | undefined;
  /** True: all knowledge of servers is from before this process was started, of an earlier run or of who reads the cluster. */
  #isOfBefore = true;
  #lastIsolation = notIsolated;

  constructor(options: FollowedServersOptions) {
    const { config, logger, answersOf } = options;
    const health = new ServerBook(config);
    this.#options = options;
    this.health = health;
    const probe = new ServerProbe({
      ...options,
      timeout: config.timeout,
      isToBeVerified: (id) => !health.is(id, isVerified),
      isAsSaid: (id, word) => this.#isAsSaid(id, word),
    });
    this.#probe = probe;
    this.#monitor = new HealthMonitor({
      health,
      probe: (destination, signal) => this.#ask(destination, signal),
      interval: config.interval,
      isUrgent: () => this.#isUrgent,
      clock: systemClock,
    });
    health.observe(logOf(logger));
    health.observe({ changed: connectionCloser(health, (id, how) => this.#end(id, how)) });
    const silence = new SilenceWatch({
      health,
      answersOf,
      responds: (destination, signal) => probe.responds(destination, signal),
    });
    this.#silence = silence;
    this.#looking = setInterval(() => {
      health.look();
      this.#isolation();
      silence.look(destinationsIn(health));
      health.tellWaiters();
    }, lookEvery).unref();
  }

  /** By `steadyNow`. */
  serverConfirmedAt(id: string, origin: string | undefined): number | undefined {
    const askedAt = provenAt(this.health.records, id, origin);
    return askedAt && performance.timeOrigin + askedAt;
  }

  confirmedAt(): number | undefined {
    return confirmedAt(this.health.records.values(), this.#isolation(), performance.now());
  }

  untold(): Untold {
    const now = performance.now();
    return untoldAt(this.#isolation(now), now);
  }

  unconfirmed(within: number): UnconfirmedServers | undefined {
    const found = unconfirmed(this.health.records, within, this.#isolation(), performance.now());
    if (found !== undefined) this.#monitor.hurry();
    return found;
  }

  follow(table: RoutingTable | undefined): void {
    const { local } = this.#options;
    const wasUrgent = this.#isUrgent;
    const isOfBefore = this.#isOfBefore;
    this.#table = table;
    if (table !== undefined && saysSomething(table))
      this.#lastIsolation = { ...this.#isolation(), toldAt: performance.now() };
    const followed = [...(local === undefined ? [] : [local]), ...peersIn(table, local?.id)];
    const hasDeparted = (id: string): boolean => table?.server(id)?.departed === true;
    // The local server has been asked already, and there was nothing to compare its word with.
    if (isOfBefore && table !== undefined) this.#monitor.follow([]);
    this.#monitor.follow(followed, (id) => isOfBefore && table !== undefined && !hasDeparted(id));
    if (this.#isUrgent && !wasUrgent) this.#monitor.hurry();
    for (const { id } of followed) this.#tell(id);
    if (table !== undefined) this.#isOfBefore = false;
    this.health.tellWaiters();
  }

  /** A response of the server at this origin broke off: it is probed at once. */
  brokenOff(origin: string): void {
    this.#applyAt(origin, { kind: 'no response' });
  }

  /** The server at this origin sent GOAWAY: a probe asks at once, and requests wait for that. */
  goneAway(origin: string): void {
    this.#applyAt(origin, { kind: 'GOAWAY' });
  }

  /**
   * The server at this origin closed a connection without GOAWAY, or sends nothing on it any more: the server gets no
   * requests until its /readyz reports ready.
   */
  connectionLost(origin: string): void {
    this.#applyAt(origin, { kind: 'connection lost', isRefused: false });
  }

  stop(): void {
    clearInterval(this.#looking);
    this.#silence.stop();
    this.#monitor.stop();
  }

  #isolation(now = performance.now()): Isolation {
    this.#lastIsolation = isolationAt(this.#lastIsolation, this.health.records, now);
    return this.#lastIsolation;
  }

  get #isUrgent(): boolean {
    return this.#table?.comparison !== undefined;
  }

  async #ask(destination: Destination, signal: AbortSignal): Promise<ProbeOutcome> {
    const { id } = destination;
    const outcome = await this.#probe.probe(destination, signal);
    if (outcome === 'ready' && this.health.records.get(id)?.state.kind === 'departed') {
      this.#options.onChanged(id);
    }
    return outcome;
  }

  #isAsSaid(id: string, word: ServerWord): boolean {
    const isSame = isAsTheSnapshotSays(id, word, this.#table);
    const before = this.health.records.get(id)?.word;
    this.health.apply(id, { kind: 'said', word: isSame ? undefined : word });
    if (isSame) return true;
    this.#end(id, olderConnections);
    if (!isDeepStrictEqual(before, word)) this.#options.onChanged(id);
    return false;
  }

  #tell(id: string): void {
    const table = this.#table;
    const before = this.health.records.get(id);
    const word = before?.word;
    const told = table?.snapshot.servers.find((server) => server.id === id);
    const agrees = word !== undefined && isAsTheSnapshotSays(id, word, table);
    const after = this.health.apply(id, { kind: 'told', told, agrees });
    if (after !== undefined && after.state !== before?.state && isOfAnotherProcess(after))
      this.#end(id, olderConnections);
  }

  #applyAt(origin: string, event: ServerEvent): void {
    for (const { id, destination } of this.health.records.values()) {
      if (destination?.origin === origin) this.health.apply(id, event);
    }
  }

  #end(id: string, how: ConnectionEnd): void {
    const destination = this.health.records.get(id)?.destination;
    if (destination !== undefined) this.#options.endConnections(destination, how);
  }
}

/**
 * Another process may have taken the address while the process before goes on with the connections that it has
 * (`--permit-port-sharing`, a load balancer that drains): what is asked from now on is asked over new connections.
 */
const olderConnections: ConnectionEnd = 'when-idle';

/** True if the snapshot has just told that another process may run the server. */
function isOfAnotherProcess(record: ServerRecord): boolean {
  const state = presentOf(record.state);
  return state.kind === 'untried' || (state.kind === 'unverified' && state.reason === 'LeaseChanged');
}

function destinationsIn({ records }: ServerBook): ReadonlyMap<string, Destination> {
  return new Map(
    [...records.values()].flatMap(({ id, destination }) => (destination ? [[id, destination]] : [])),
  );
}

function logOf(logger: Logger): HealthObserver {
  return {
    changed({ id, status, reason, isDown }) {
      if (isDown) logger.warn({ server: id, status, reason }, 'An API server is unhealthy');
      else logger.info({ server: id, status, reason }, 'An API server is healthy');
    },
    lost(id) {
      const text =
        'A connection to an API server was lost: it gets no requests until its /readyz says that it is ready';
      logger.info({ server: id }, text);
    },
    stoodStill(milliseconds) {
      const text = 'This process stood still: every API server is asked what it is before it gets requests';
      logger.warn({ milliseconds: Math.round(milliseconds) }, text);
    },
  };
}

/**
 * Peers, and those that have departed last, where they were: a server that comes back is noticed by its `/readyz`, long
 * before a Lease or an endpoint names it.
 */
function peersIn(table: RoutingTable | undefined, localId: string | undefined): readonly Destination[] {
  const peers = (table?.servers ?? []).filter(({ id }) => id !== localId);
  const there = peers.flatMap((server) => peerDestination(server) ?? []);
  const taken = new Set(there.map(({ origin }) => origin));
  const departed = peers.flatMap((server) => {
    const listed = server.departed && table?.snapshot.servers.find(({ id }) => id === server.id);
    const origin = listed ? originOf(listed) : undefined;
    return origin === undefined || taken.has(origin) ? [] : (peerDestination({ ...server, origin }) ?? []);
  });
  return [...there, ...departed];
}
