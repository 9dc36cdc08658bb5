import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestObserver, RequestRecord } from '../../request/inbound.ts';
import { serversOf } from '../../routing/decide.ts';
import type { HealthChange, HealthObserver } from '../../servers/server-book.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import {
  type HistoryView,
  healthEvent,
  historyView,
  type KnownCluster,
  type UpgradeEvent,
  upgradeEvents,
} from './history-view.ts';
import { MinuteRing } from './minute-ring.ts';
import { PartialUse } from './partial-use.ts';

/** Kept of each kind: health that comes and goes must not push out what happened to the cluster. */
const keptEvents = 100;

interface RouterHistoryOptions {
  readonly preferredMinor: (table: RoutingTable) => string | undefined;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/**
 * In memory and bounded. Nothing of queries is kept, and of who calls only with requests for what not all servers serve. It
 * begins empty with each start of the router.
 */
export class RouterHistory implements RequestObserver, HealthObserver {
  readonly #ring = new MinuteRing();
  readonly #use = new PartialUse();
  readonly #events: UpgradeEvent[] = [];
  readonly #healthEvents: UpgradeEvent[] = [];
  readonly #clock: () => number;
  readonly #preferredMinor: RouterHistoryOptions['preferredMinor'];
  readonly #startedAt: number;
  readonly #versionOf = (id: string): string | undefined => this.#known?.table.server(id)?.version;
  #known: KnownCluster | undefined;

  constructor({ preferredMinor, clock = Date.now }: RouterHistoryOptions) {
    this.#preferredMinor = preferredMinor;
    this.#clock = clock;
    this.#startedAt = clock();
  }

  tableInUse(table: RoutingTable): void {
    const known = { table, preferred: this.#preferredMinor(table) };
    keep(this.#events, upgradeEvents(this.#known, known, this.#clock()));
    if (this.#known?.table.snapshot !== table.snapshot) this.#ring.versionsChanged();
    this.#known = known;
  }

  changed(change: HealthChange): void {
    const event = healthEvent(change, this.#clock());
    if (event !== undefined) keep(this.#healthEvents, [event]);
  }

  responded({ inbound, requestInfo, caller, decision, attempts, status }: RequestRecord) {
    // Health checks and the router's own paths are no traffic of the cluster.
    if (requestInfo === undefined || decision === undefined) return;
    // Counted where the client came in: the sum over routers would have the request twice.
    if (decision.reason === 'AlreadyRerouted') return;
    const now = this.#clock();
    const table = this.#known?.table;
    const id = attempts.at(-1)?.destination.id ?? '';
    const reroutedFor = decision.decision === 'local' ? undefined : decision.reason;
    this.#ring.responded(now, id, this.#versionOf, status, reroutedFor);
    if (table === undefined || !requestInfo.isResourceRequest) return;
    const servedBy = serversOf(requestInfo, table);
    // Resources that all servers serve are not at stake.
    if (servedBy === undefined || servedBy.servers.length >= table.servers.length) return;
    const user = caller?.kind === 'authenticated' ? caller.user.name : undefined;
    this.#use.used(servedBy, requestInfo, firstHeader(inbound.headers, 'user-agent'), user, now);
  }

  view(): HistoryView {
    return historyView({
      now: this.#clock(),
      startedAt: this.#startedAt,
      table: this.#known?.table,
      ring: this.#ring,
      use: this.#use,
      events: [...this.#events, ...this.#healthEvents],
    });
  }
}

function keep(kept: UpgradeEvent[], events: readonly UpgradeEvent[]): void {
  kept.push(...events);
  if (kept.length > keptEvents) kept.splice(0, kept.length - keptEvents);
}
