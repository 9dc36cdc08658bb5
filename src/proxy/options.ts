import type { MergedOpenApiV2 } from '../discovery/openapi-v2/merged-openapi-v2.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { IdentityHeaderNames } from '../identity/identity-header-names.ts';
import type { IdentityTokenSigners } from '../identity/identity-token.ts';
import type { Logger } from '../observe/logger.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';
import type { StalePolicy } from './decision.ts';
import type { InboundRequest } from './inbound.ts';
import type { Destination, Transport } from './transport.ts';

/** Where the routing table comes from: the snapshot receiver, or anything that holds one. */
export interface RoutingTableSource {
  /** The table in force, or `undefined` while there has been no snapshot. */
  current(): RoutingTable | undefined;
}

/** What the routing filter needs. Everything that reaches outside is injected. */
export interface MixedVersionProxyOptions {
  /** ID of the local API server, as it stands in the snapshot. */
  readonly serverId: string;
  /** The local API server. In a library, `next()` stands for it and only merged documents ask it. */
  readonly local: Destination;
  readonly routingTable: RoutingTableSource;
  readonly transport: Transport;
  /**
   * The merged OpenAPI v2 document, kept up to date by the runtime, which needs work in the background for it.
   * Default: `/openapi/v2` is the local server's own.
   */
  readonly openApiV2?: Pick<MergedOpenApiV2, 'document' | 'problems'> | undefined;
  /** Asked in order; the first opinion counts. Default: none, so that every caller passes through. */
  readonly authenticators?: readonly Authenticator[];
  /** Whether the connection itself belongs to a front proxy whose word counts. Default: none does. */
  readonly isVerifiedPeer?: (inbound: InboundRequest) => boolean;
  /** This router's name in `Via`, by which it notices a request that comes back. Default: a random one. */
  readonly pseudonym?: string;
  /** Default: the names Kubernetes uses. */
  readonly identityHeaderNames?: IdentityHeaderNames;
  /**
   * For destinations that are told by a signed token who calls. Default: none, so that all are told by X-Remote
   * headers over connections with the front-proxy certificate.
   */
  readonly identityTokens?: IdentityTokenSigners;
  /** Default `local`. */
  readonly stalePolicy?: StalePolicy;
  /** Default `local`: the local server's aggregator does it. */
  readonly extensionRouting?: 'local' | 'extension';
  /** The feature gate `UnknownVersionInteroperabilityProxy`. Off: every request goes to the local server. Default true. */
  readonly enabled?: boolean;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}
