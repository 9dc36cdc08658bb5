import { isDeepStrictEqual } from 'node:util';
import type { OutboundOptions } from '../../proxy/outbound.ts';
import { createProbe, type ProbeOptions } from '../../proxy/probe.ts';
import { peerDestination } from '../../proxy/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { Logger } from '../../runtime/logger.ts';
import { systemClock } from '../../runtime/time.ts';
import { confirmedAt, provenAt, type UnconfirmedServers, unconfirmed } from '../../servers/confirmations.ts';
import { type ConnectionEnd, connectionCloser } from '../../servers/connection-closer.ts';
import { HealthMonitor } from '../../servers/health-monitor.ts';
import { type HealthObserver, ServerBook } from '../../servers/server-book.ts';
import { isVerified } from '../../servers/server-standing.ts';
import { presentOf, type ServerRecord } from '../../servers/server-states.ts';
import { isAsTheSnapshotSays } from '../../servers/server-word.ts';
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

/** Milliseconds between two looks whether this process stood still, and whether a server is silent. */
const lookEvery = 250;

/** The effects of what is known of servers: probes, ends of connections, log. The knowledge itself is in the book. */
export function followServers(options: FollowedServersOptions) {
  const { config, local, answersOf, onChanged } = options;
  const book = new ServerBook(config);
  let current: RoutingTable | undefined;
  /** True: all knowledge of servers is from before this process was started, of an earlier run or of who reads the cluster. */
  let isOfBefore = true;
  const end = (id: string, how: ConnectionEnd): void => {
    const destination = book.records.get(id)?.destination;
    if (destination !== undefined) options.endConnections(destination, how);
  };
  const { probe: ask, responds } = createProbe({
    ...options,
    timeout: config.timeout,
    isToBeVerified: (id) => !book.is(id, isVerified),
    isAsSaid(id, word) {
      const isSame = isAsTheSnapshotSays(id, word, current);
      const before = book.records.get(id)?.word;
      book.apply(id, { kind: 'said', word: isSame ? undefined : word });
      if (isSame) return true;
      end(id, olderConnections);
      if (!isDeepStrictEqual(before, word)) onChanged(id);
      return false;
    },
  });
  const isUrgent = () => current?.comparison !== undefined;
  const monitor = new HealthMonitor({
    health: book,
    async probe(destination, signal) {
      const outcome = await ask(destination, signal);
      if (outcome === 'ready' && book.records.get(destination.id)?.state.kind === 'departed') {
        onChanged(destination.id);
      }
      return outcome;
    },
    interval: config.interval,
    isUrgent,
    clock: systemClock,
  });
  book.observe(logOf(options.logger));
  book.observe({ changed: connectionCloser(book, end) });
  const forEachAt = (origin: string, kind: 'no response' | 'GOAWAY' | 'connection lost'): void => {
    for (const { id, destination } of book.records.values()) {
      if (destination?.origin === origin)
        book.apply(id, kind === 'connection lost' ? { kind, isRefused: false } : { kind });
    }
  };
  const tell = (id: string, table: RoutingTable | undefined): void => {
    const before = book.records.get(id);
    const word = before?.word;
    const told = table?.snapshot.servers.find((server) => server.id === id);
    const agrees = word !== undefined && isAsTheSnapshotSays(id, word, table);
    const after = book.apply(id, { kind: 'told', told, agrees });
    if (after !== undefined && after.state !== before?.state && isOfAnotherProcess(after))
      end(id, olderConnections);
  };
  const silence = new SilenceWatch({ health: book, answersOf, responds });
  const watch = setInterval(() => {
    book.look();
    silence.look(destinationsIn(book));
  }, lookEvery).unref();
  return {
    health: book,
    /** By `steadyNow`. */
    serverConfirmedAt(id: string, origin: string | undefined): number | undefined {
      const askedAt = provenAt(book.records, id, origin);
      return askedAt && performance.timeOrigin + askedAt;
    },
    confirmedAt: () => confirmedAt(book.records.values()),
    unconfirmed(within: number): UnconfirmedServers | undefined {
      const found = unconfirmed(book.records, within, performance.now());
      if (found !== undefined) monitor.hurry();
      return found;
    },
    follow(table: RoutingTable | undefined): void {
      const wasUrgent = isUrgent();
      current = table;
      const followed = [...(local === undefined ? [] : [local]), ...peersIn(table, local?.id)];
      const hasDeparted = (id: string): boolean => table?.server(id)?.departed === true;
      // The local server has been asked already, and there was nothing to compare its word with.
      if (isOfBefore && table !== undefined) monitor.follow([]);
      monitor.follow(followed, (id) => isOfBefore && table !== undefined && !hasDeparted(id));
      if (isUrgent() && !wasUrgent) monitor.hurry();
      for (const { id } of followed) tell(id, table);
      if (table !== undefined) isOfBefore = false;
    },
    /** A response of the server at this origin broke off: it is probed at once. */
    brokenOff: (origin: string) => forEachAt(origin, 'no response'),
    /** The server at this origin sent GOAWAY: a probe asks at once, and requests wait for that. */
    goneAway: (origin: string) => forEachAt(origin, 'GOAWAY'),
    /**
     * The server at this origin closed a connection without GOAWAY, or sends nothing on it any more: the server gets no
     * requests until its /readyz reports ready.
     */
    connectionLost: (origin: string) => forEachAt(origin, 'connection lost'),
    stop(): void {
      clearInterval(watch);
      silence.stop();
      monitor.stop();
    },
  };
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

const namedIds = 10;
const noSuchServer =
  'The snapshot has no server with the ID of the local one: compare --server-id with the IDs that the snapshot has (endpoint-…: a server of which only the address is known)';

/**
 * Warns if a routing table does not have the router's own local server, once, and again when the servers change. With a
 * wrong `--server-id` everything works, but requests that the local server could serve may go to a peer.
 * @param localServerId its ID in the table in use
 * @param known its ID as it was given or found; asked for with the first table
 */
export function ownServerCheck(
  localServerId: () => string,
  logger: Logger,
  known: () => string | undefined = localServerId,
): (table: RoutingTable) => void {
  let warnedOf: string | undefined;
  let last: string | undefined;
  return (table) => {
    const serverId = localServerId();
    last ??= known() ?? serverId;
    if (table.server(serverId) !== undefined) {
      if (warnedOf !== undefined || serverId !== last) {
        const before = serverId === last ? {} : { before: last };
        logger.info({ serverId, ...before }, 'The local server is in the snapshot now');
      }
      last = serverId;
      warnedOf = undefined;
      return;
    }
    const ids = table.servers.map(({ id }) => id);
    const situation = JSON.stringify(ids);
    if (situation === warnedOf) return;
    warnedOf = situation;
    logger.warn({ serverId, servers: ids.length, serverIds: ids.slice(0, namedIds) }, noSuchServer);
  };
}
