import { parseRfc3339, steadyNow } from '../../runtime/time.ts';
import type { Snapshot, VersionChange } from '../format/schema.ts';

/**
 * How long after its server became ready a version begins to count, milliseconds: from then on nobody sends to the version of
 * before what depends on it. All know of the server by then, or know that they do not (`confirmedWithin`).
 */
export const countsAfter = 8_000;

/**
 * How long what depends on the version waits then, milliseconds, before another version takes the place of the preferred one.
 * Requests that other routers have sent to the version of before are carried out by then.
 */
export const versionSettlesFor = 2_000;

/**
 * How old the last word may be that servers are as they are known, milliseconds, while a router sends writes of what they
 * understand differently. Less than `countsAfter`: a router whose messages are late has stopped before anybody changes.
 */
export const confirmedWithin = 6_000;

/** A change of versions, with its instants by the clock of this process that only rises (`steadyNow`). */
export interface TimedChange extends Pick<VersionChange, 'server' | 'from' | 'to'> {
  /** The change counts from then on. */
  readonly until: number;
  /** The change may count for another router from then on. */
  readonly waitFrom: number;
}

function originOf(server: Snapshot['servers'][number] | undefined): string | undefined {
  return server?.address === undefined ? server?.url : `https://${server.address}`;
}

/** As the snapshot has them, by the clock of who made it. */
export function changesIn({ metadata }: Snapshot): readonly TimedChange[] {
  return (metadata.versionChanges ?? []).map(({ at, waitFrom, ...change }) => {
    const until = Date.parse(at);
    return {
      ...change,
      until,
      waitFrom: waitFrom === undefined ? until - versionSettlesFor : Date.parse(waitFrom),
    };
  });
}

export interface VersionInstantsOptions {
  /**
   * When this process last asked a server and heard that it is as was known, by the same clock. Of one that comes back under
   * another ID: the server that had its address before. Default: it asks none.
   * @param origin `https://host:port`; `undefined`: the snapshot has none
   */
  readonly serverConfirmedAt?: ((id: string, origin: string | undefined) => number | undefined) | undefined;
  readonly steadyClock?: (() => number) | undefined;
}

/**
 * Gives the changes that snapshots tell of their instants on this process's own clock. A change counts so long after its
 * snapshot has come as the snapshot says that it lies ahead: whoever gets it late is late, and waits meanwhile, from when
 * another router may have been earlier. Setting a clock, of this machine or of the one that reads the cluster, moves nothing.
 */
export class VersionInstants {
  readonly #options: VersionInstantsOptions;
  #known = new Map<string, TimedChange>();

  constructor(options: VersionInstantsOptions = {}) {
    this.#options = options;
  }

  /** @param snapshot one that has just come */
  of({ metadata, servers }: Snapshot): readonly TimedChange[] {
    const { createdAt, versionChanges = [] } = metadata;
    const timed = versionChanges.map((change) => {
      const { server, from, to, at } = change;
      const key = [server, from, to, at].join();
      return [
        key,
        this.#known.get(key) ?? this.#timed(change, servers, parseRfc3339(createdAt) ?? 0),
      ] as const;
    });
    this.#known = new Map(timed);
    return timed.map(([, change]) => change);
  }

  #timed(
    { server, from, to, at, waitFrom }: VersionChange,
    servers: Snapshot['servers'],
    createdAt: number,
  ): TimedChange {
    const { steadyClock = steadyNow, serverConfirmedAt } = this.#options;
    const now = steadyClock();
    const left = (parseRfc3339(at) ?? 0) - createdAt;
    // An instant that no reader writes comes from a clock that was set in between: then it lies as far ahead as it may.
    const isPossible = left > -60_000 && left <= countsAfter + versionSettlesFor;
    const until = now + (isPossible ? Math.max(left, 0) : countsAfter + versionSettlesFor);
    const told =
      waitFrom === undefined ? until - versionSettlesFor : now + (parseRfc3339(waitFrom) ?? 0) - createdAt;
    // Others may have heard of it as soon as this process has heard for the last time that nothing had changed.
    const origin = originOf(servers.find(({ id }) => id === server));
    const own =
      serverConfirmedAt === undefined
        ? told
        : (serverConfirmedAt(server, origin) ?? now - countsAfter) + countsAfter;
    return {
      server,
      ...(from && { from }),
      ...(to && { to }),
      until,
      waitFrom: Math.min(told, own, until - versionSettlesFor),
    };
  }
}
