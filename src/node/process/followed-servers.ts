import { isDeepStrictEqual } from 'node:util';
import type { UnconfirmedServers } from '../../proxy/options.ts';
import type { OutboundOptions } from '../../proxy/outbound.ts';
import { createProbe, isAsTheSnapshotSays, type ProbeOptions, type ServerWord } from '../../proxy/probe.ts';
import { peerDestination } from '../../proxy/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { Logger } from '../../runtime/logger.ts';
import { systemClock } from '../../runtime/time.ts';
import { type ConnectionEnd, connectionCloser } from '../../servers/connection-closer.ts';
import { HealthMonitor } from '../../servers/health-monitor.ts';
import { ServerBook } from '../../servers/server-book.ts';
import { isVerified } from '../../servers/server-standing.ts';
import type { ProbeOutcome } from '../../servers/server-states.ts';
import { type Answers, SilenceWatch } from '../../servers/silence-watch.ts';
import type { SnapshotServer } from '../../snapshot/format/schema.ts';
import { originOf } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { HealthConfig } from '../configuration/serve-config.ts';

interface FollowedServersOptions extends OutboundOptions, Pick<ProbeOptions, 'transport' | 'logger'> {
  readonly config: HealthConfig;
  readonly local: Destination | undefined;
  readonly answersOf: (id: string) => Answers;
  readonly endConnections: (destination: Destination, how: ConnectionEnd) => void;
  /** A server says of itself what the snapshot does not say, for the first time, or has departed and is ready. */
  readonly onChanged: () => void;
}

/** Milliseconds after which the snapshot's word on a silent server is enough. */
const toldWithin = 60_000;

/** Milliseconds between two looks whether this process stood still, and whether a server is silent. */
const lookEvery = 250;

export function followServers(options: FollowedServersOptions) {
  const { config, local, answersOf, endConnections, onChanged, logger } = options;
  const health = new ServerBook(config);
  /** When a server was asked that said, or showed, that no other process than the known one is ready, by `performance.now`. */
  const confirmedAt = new Map<string, number>();
  /** The same of those that the snapshot had then. */
  const provenAt = new Map<string, number>();
  /** The same by origin: a server may come back under another ID, as those before 1.28 do. Those of the table in use alone. */
  let provenByOrigin = new Map<string, number>();
  const refused = new Set<string>();
  const { probe: ask, responds } = createProbe({
    ...options,
    timeout: config.timeout,
    onNotConnected(id, isRefused) {
      if (isRefused) refused.add(id);
      health.connectionLost(id, isRefused);
    },
    isToBeVerified: (id) => !health.is(id, isVerified),
    isAsSaid(id, word) {
      if (isAsTheSnapshotSays(id, word, current)) {
        words.delete(id);
        return true;
      }
      const isNews = !isDeepStrictEqual(words.get(id), word);
      words.set(id, word);
      endOlderConnections(id);
      if (isNews) onChanged();
      return false;
    },
  });
  const hasDeparted = (id: string): boolean => current?.server(id)?.departed === true;
  const silent = new Set<string>();
  /**
   * Of a server that has departed, or that neither this router nor who reads the cluster can reach, and whose Lease no other
   * process holds, nobody says more.
   */
  const isOutOfReach = (id: string): boolean => {
    if (!silent.has(id)) return false;
    const server = current?.snapshot.servers.find((each) => each.id === id);
    return server?.unread !== true && (server?.stale === true || hasDeparted(id));
  };
  const probe = async (destination: Destination, signal: AbortSignal): Promise<ProbeOutcome> => {
    const { id, origin } = destination;
    const askedAt = performance.now();
    refused.delete(id);
    const outcome = await ask(destination, signal);
    if (outcome === 'ready' && hasDeparted(id)) onChanged();
    silent.delete(id);
    if (outcome === 'unreachable' && !refused.has(id)) silent.add(id);
    else if (outcome !== 'changed') {
      confirmedAt.set(id, askedAt);
      // Of one that the snapshot does not have it is not said what it is.
      if (current?.server(id) !== undefined) {
        provenAt.set(id, askedAt);
        provenByOrigin.set(origin, askedAt);
      }
    }
    return outcome;
  };
  const isUrgent = () => current?.comparison !== undefined;
  const monitor = new HealthMonitor({
    health,
    probe,
    interval: config.interval,
    isUrgent,
    clock: systemClock,
  });
  let destinations: ReadonlyMap<string, Destination> = new Map();
  let current: RoutingTable | undefined;
  /** True: all knowledge of servers is from before this process was started, of an earlier run or of who reads the cluster. */
  let isOfBefore = true;
  const words = new Map<string, ServerWord>();
  health.observe({
    changed({ id, to, cause }) {
      if (to === 'unhealthy') logger.warn({ server: id, cause }, 'An API server is unhealthy');
      else logger.info({ server: id }, 'An API server is healthy');
    },
    lost(id) {
      const text =
        'A connection to an API server was lost: it gets no requests until its /readyz says that it is ready';
      logger.info({ server: id }, text);
    },
    stoodStill(milliseconds) {
      confirmedAt.clear();
      provenAt.clear();
      provenByOrigin.clear();
      const text = 'This process stood still: every API server is asked what it is before it gets requests';
      logger.warn({ milliseconds: Math.round(milliseconds) }, text);
    },
  });
  const end = (id: string, how: ConnectionEnd): void => {
    const destination = destinations.get(id);
    if (destination !== undefined) endConnections(destination, how);
  };
  /**
   * Another process may have taken the address while the one before goes on with the connections that it has
   * (`--permit-port-sharing`, a load balancer that drains): what is asked from now on is asked over new ones.
   */
  const endOlderConnections = (id: string): void => end(id, 'when-idle');
  health.observe({ changed: connectionCloser(health, end) });
  /** @param before as the table of before had it */
  const readBy = (server: SnapshotServer, before: SnapshotServer | undefined): void => {
    const { id, unread = false, version, emulates } = server;
    if (unread && before?.unread !== true && !isOfBefore) {
      endOlderConnections(id);
      health.changedHands(id);
    }
    // The word of a server on itself goes first, where this router may ask it.
    if (unread || before === undefined || words.has(id)) return;
    const isOfAnotherVersion = version !== before.version || emulates !== before.emulates;
    if (isOfAnotherVersion && !isOfBefore && health.is(id, isVerified)) {
      endOlderConnections(id);
      health.readAsAnother(id);
    } else if (before.unread === true) health.read(id);
  };
  const forEachAt = (origin: string, tell: (id: string) => void): void => {
    for (const destination of destinations.values()) {
      if (destination.origin === origin) tell(destination.id);
    }
  };
  const silence = new SilenceWatch({ health, answersOf, responds });
  const watch = setInterval(() => {
    health.look();
    silence.look(destinations);
  }, lookEvery).unref();
  return {
    health,
    /** By `steadyNow`. */
    serverConfirmedAt(id: string, origin: string | undefined): number | undefined {
      const askedAt = provenAt.get(id) ?? (origin === undefined ? undefined : provenByOrigin.get(origin));
      return askedAt && performance.timeOrigin + askedAt;
    },
    confirmedAt(): number | undefined {
      const asked = [...destinations.keys()]
        .filter((id) => !isOutOfReach(id))
        .map((id) => confirmedAt.get(id));
      if (asked.length === 0 || asked.includes(undefined)) return undefined;
      return Math.min(...asked.filter((at) => at !== undefined));
    },
    unconfirmed(within: number): UnconfirmedServers | undefined {
      const now = performance.now();
      const ageOf = (id: string) => now - (confirmedAt.get(id) ?? now);
      let heard = 0;
      for (const id of destinations.keys()) if (confirmedAt.has(id) && ageOf(id) <= within) heard++;
      // Nearly always: nothing is made on the request path, then.
      if (heard === destinations.size) return undefined;
      const silent = new Set([...destinations.keys()].filter((id) => ageOf(id) > within));
      if (silent.size === 0) return undefined;
      monitor.hurry();
      // Who is cut off from all of them knows nothing. Else who reads the cluster has told meanwhile what one is, or that
      // nobody reaches it.
      const isTold = (id: string) => isOutOfReach(id) || ageOf(id) > toldWithin;
      return { silent, mayDiffer: heard === 0 ? silent : new Set([...silent].filter((id) => !isTold(id))) };
    },
    follow(table: RoutingTable | undefined): void {
      const before = current;
      current = table;
      const followed = [...(local === undefined ? [] : [local]), ...peersIn(table, local?.id)];
      destinations = new Map(followed.map((destination) => [destination.id, destination]));
      // The local one has been asked already, and there was nothing to compare its word with.
      if (isOfBefore && table !== undefined) monitor.follow([]);
      monitor.follow(followed, (id) => isOfBefore && table !== undefined && !hasDeparted(id));
      const origins = new Set(followed.map(({ origin }) => origin));
      provenByOrigin = new Map([...provenByOrigin].filter(([origin]) => origins.has(origin)));
      if (isUrgent() && before?.comparison === undefined) monitor.hurry();
      const last = new Map(before?.snapshot.servers.map((server) => [server.id, server]));
      for (const server of table?.snapshot.servers ?? []) readBy(server, last.get(server.id));
      for (const [id, word] of words) {
        if (!isAsTheSnapshotSays(id, word, table)) continue;
        words.delete(id);
        health.read(id);
      }
      if (table !== undefined) isOfBefore = false;
    },
    /** A response of the server at this origin broke off: it is probed at once. */
    brokenOff: (origin: string) => forEachAt(origin, (id) => health.notResponded(id)),
    /** The server at this origin sent GOAWAY: a probe asks at once, and requests wait for that. */
    goneAway: (origin: string) => forEachAt(origin, (id) => health.goneAway(id)),
    /** It closed a connection without GOAWAY, or sends nothing on it any more: it gets no requests until its /readyz reports ready. */
    connectionLost: (origin: string) => forEachAt(origin, (id) => health.connectionLost(id)),
    stop(): void {
      clearInterval(watch);
      silence.stop();
      monitor.stop();
    },
  };
}

/**
 * Those that have departed last, where they were: one that comes back is noticed by its `/readyz`, long before a Lease or an
 * endpoint names it.
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
 */
export function ownServerCheck(localServerId: () => string, logger: Logger): (table: RoutingTable) => void {
  let warnedOf: string | undefined;
  let last = localServerId();
  return (table) => {
    const serverId = localServerId();
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
