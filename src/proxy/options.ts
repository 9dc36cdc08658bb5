import type { ServerHealth } from '../health/server-health.ts';
import type { AssertionSigner } from '../identity/assertion/assertion-signer.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { Destination } from '../request/destination.ts';
import type { IdentityHeaderNames } from '../request/headers.ts';
import type { InboundRequest } from '../request/inbound.ts';
import type { RequestObserver } from '../request/request-record.ts';
import type { Transport } from '../request/transport.ts';
import type { PreferredVersionOptions } from '../routing/decision.ts';
import type { Logger } from '../runtime/logger.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import type { RetryBudget } from './delivery/other-servers.ts';
import type { ServerLoad } from './delivery/server-choice.ts';
import type { RequestGate } from './request-gate.ts';

/** Where the routing table comes from: the snapshot receiver, or anything that holds one. */
export interface RoutingTableSource {
  /** The table in force, or `undefined` while there has been no snapshot. */
  current(): RoutingTable | undefined;
}

/** What the routing filter needs. Everything that reaches outside is injected. */
export interface MixedVersionProxyOptions {
  /**
   * The local API server, its `id` as the snapshot has it: asked anew each time, for snapshots may come to name a server
   * otherwise. In a library, `next()` stands for it. Left out in the gateway form, in which no server is closer than another.
   */
  readonly local?: Destination | undefined;
  readonly routingTable: RoutingTableSource;
  readonly transport: Transport;
  /** Tried in order; the first verdict counts. Default: none, so that every caller passes through. */
  readonly authenticators?: readonly Authenticator[];
  /** Whether the connection belongs to a trusted front proxy. Default: none does. */
  readonly isVerifiedPeer?: (inbound: InboundRequest) => boolean;
  /** This router's name in `Via`, by which it notices a request that comes back. Default: a random one. */
  readonly pseudonym?: string;
  /** Default: the names Kubernetes uses. */
  readonly identityHeaderNames?: IdentityHeaderNames;
  /**
   * Signs who calls, for destinations that are routers and have pinned its key. Default: none; all destinations get
   * X-Remote headers over connections with the front-proxy certificate.
   */
  readonly assertionSigner?: AssertionSigner | undefined;
  /**
   * Of which version the cluster is to look while its servers have several. Default: that of the majority, for resources
   * that servers understand differently, by what the sync job has compared (`ServedSet.schemas`).
   */
  readonly preferredVersion?: PreferredVersionOptions | undefined;
  /** The feature gate `UnknownVersionInteroperabilityProxy`. Off: every request goes to the local server. Default true. */
  readonly enabled?: boolean;
  /** What is known of the health of servers. Default: only what requests themselves meet. */
  readonly health?: ServerHealth | undefined;
  /** Milliseconds since the epoch, compared with a snapshot's times. Default `Date.now`. */
  readonly clock?: () => number;
  /** Milliseconds of a monotonic clock, for durations. Default `performance.now`. */
  readonly monotonicClock?: () => number;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Default: logs nothing. */
  readonly logger?: Logger;
  /**
   * Requests in flight by server. Default: a new one; pass one to read it elsewhere.
   */
  readonly load?: ServerLoad | undefined;
  /** Budget for second tries. Default: a new one; pass one to read it elsewhere. */
  readonly retryBudget?: RetryBudget | undefined;
  /** Observers of every request: metrics, access log. Default: none. */
  readonly observers?: readonly RequestObserver[];
  /** Limits requests in flight. Default: there is no limit. */
  readonly gate?: RequestGate | undefined;
}
