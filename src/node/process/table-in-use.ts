import { prewarmDiscovery } from '../../discovery/documents.ts';
import type { RouterHistory } from '../../own-paths/history/router-history.ts';
import { destinationsOf } from '../../proxy/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { PreferredVersion } from '../../routing/decision.ts';
import { type ComingPreference, comingPreference, ledByPreference } from '../../routing/preferred-version.ts';
import type { Logger } from '../../runtime/logger.ts';
import { steadyNow } from '../../runtime/time.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { versionSettlesFor } from '../../snapshot/routing-table/version-instants.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import type { RouterMetrics } from '../metrics/router-metrics.ts';
import type { LocalServerId } from './local-server-id.ts';

/** Milliseconds over which watches move to servers of another version: every client opens a new one at once. */
const watchesMovedOver = 5_000;

/** Milliseconds by which a busy process may wake up late. */
const late = 1_000;

/** Something that another preferred version brings about. `at` and `by` are of `steadyNow`. */
type Step =
  | { readonly kind: 'watches end'; readonly at: number; readonly by: number }
  | { readonly kind: 'version changes'; readonly at: number };

/**
 * Watches end before another router may write to the new version. Else they show objects without the new fields for a while,
 * and a client that writes such an object removes the fields. `Router.settled` opens them again at the new version. Pure.
 * @returns in their order
 */
function stepsTo(coming: ComingPreference | undefined, now: number): readonly Step[] {
  if (coming === undefined) return [];
  const { waitFrom, at } = coming;
  const change: Step = { kind: 'version changes', at };
  const by = Math.min(Math.max(waitFrom, now) + versionSettlesFor, at);
  const end: Step = { kind: 'watches end', at: waitFrom, by };
  return waitFrom < at ? [end, change] : [change];
}

/**
 * A router that stood still, or that has just begun, knows servers only after a moment: a watch that had no other server at the
 * first look has one at the next.
 */
function lookedAtAgain(
  { by }: Step & { readonly kind: 'watches end' },
  [change]: readonly Step[],
): readonly Step[] {
  if (change === undefined || by >= change.at) return [];
  return [{ kind: 'watches end', at: by, by: Math.min(by + versionSettlesFor, change.at) }];
}

interface TableUsers {
  readonly localServerId: LocalServerId | undefined;
  readonly servers: { follow(table: RoutingTable): void } | undefined;
  readonly local: Destination | undefined;
  readonly transport: Pick<NodeTransport, 'retainDestinations'>;
  readonly metrics: Pick<RouterMetrics, 'tableInUse'>;
  readonly history: Pick<RouterHistory, 'tableInUse'>;
  readonly openStreams: Pick<OpenStreams, 'endMisplaced'>;
  readonly preferredVersion: PreferredVersion;
  /** Merged documents are served. */
  readonly mergesDocuments: boolean;
  readonly logger: Logger;
}

/** The routing table in use, and what follows from it: at once, and at the instants that it foresees. */
export class TableInUse {
  readonly #users: TableUsers;
  #table: RoutingTable | undefined;
  /** Still to come, in their order. */
  #steps: readonly Step[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(users: TableUsers) {
    this.#users = users;
  }

  put(table: RoutingTable): void {
    const { localServerId, servers, local, transport, metrics, history } = this.#users;
    // First, because the others ask for the ID.
    localServerId?.follow(table);
    servers?.follow(table);
    const destinations = destinationsOf(local, table);
    transport.retainDestinations(destinations);
    metrics.tableInUse(table, destinations);
    history.tableInUse(table);
    const before = this.#table;
    this.#table = table;
    // In a cluster of one version there is no other place for a watch.
    const couldMove = table.comparison !== undefined || before?.comparison !== undefined;
    if (couldMove && table.snapshot !== before?.snapshot) this.#moveWatches(watchesMovedOver);
    this.#foresee(table);
    this.#prepareDocuments(table);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#steps = [];
  }

  #foresee(table: RoutingTable): void {
    const now = steadyNow();
    this.#steps = stepsTo(comingPreference(table, this.#users.preferredVersion, now), now);
    this.#awaitNext(table);
  }

  #awaitNext(table: RoutingTable): void {
    clearTimeout(this.#timer);
    const [next] = this.#steps;
    if (next === undefined) return;
    // Node takes a longer time for one of 1 ms. Clocks that are a month apart make one.
    const milliseconds = Math.min(Math.max(0, Math.ceil(next.at - steadyNow())), longestTimer);
    this.#timer = setTimeout(() => this.#wake(table), milliseconds).unref();
  }

  #wake(table: RoutingTable): void {
    const now = steadyNow();
    const [next, ...later] = this.#steps;
    // A timer may fire a millisecond early.
    if (next === undefined || now < next.at) {
      this.#awaitNext(table);
    } else if (next.kind === 'watches end') {
      this.#moveWatches(Math.max(0, next.by - now));
      this.#steps = [...lookedAtAgain(next, later), ...later];
      this.#awaitNext(table);
    } else {
      this.#users.history.tableInUse(table);
      // A process that stood still has ended none before, and others may write to the new version already.
      this.#moveWatches(now - next.at < late ? watchesMovedOver : 0);
      this.#prepareDocuments(table);
      this.#foresee(table);
    }
  }

  /** @param over milliseconds */
  #moveWatches(over: number): void {
    this.#users.openStreams.endMisplaced({ over });
  }

  #prepareDocuments(table: RoutingTable): void {
    const { mergesDocuments, preferredVersion, logger } = this.#users;
    if (!mergesDocuments) return;
    prewarmDiscovery(ledByPreference(table, preferredVersion, steadyNow())).catch((error: unknown) => {
      logger.error({ err: error }, 'The merged discovery documents could not be built');
    });
  }
}

/** Milliseconds. */
const longestTimer = 2 ** 31 - 1;
