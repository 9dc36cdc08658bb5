/** The portable core: everything here runs on any runtime with web standards. src/README.md says what each is for. */

export { parseRequestInfo, type RequestInfo } from './apimachinery/request-info.ts';
export { RequestInfoError, type RequestInfoErrorCode } from './apimachinery/request-info-error.ts';
export { type DiscoveryView, mergeDiscovery } from './discovery/merge-discovery.ts';
export type { AssertionSigner } from './identity/assertion/assertion-signer.ts';
export { type AssertionSignerOptions, createAssertionSigner } from './identity/assertion/sign-assertion.ts';
export { AuthenticationError, type Authenticator } from './identity/authenticator.ts';
export { RequestHeaderAuthenticator } from './identity/request-header.ts';
export { stampIdentity } from './identity/stamp-identity.ts';
export { X509Authenticator } from './identity/x509.ts';
export { createApp } from './library-app.ts';
export type { AppOptions } from './own-app.ts';
export { type MiddlewareOptions, mixedVersionProxy } from './proxy/middleware.ts';
export type { MixedVersionProxyOptions, RoutingTableSource } from './proxy/options.ts';
export {
  type Destination,
  type DestinationTrust,
  NotSentError,
  TransportError,
  type TransportErrorCode,
} from './request/destination.ts';
export { createFetchTransport, type Fetch, type FetchOptions } from './request/fetch-transport.ts';
export type { IdentityHeaderNames } from './request/headers.ts';
export type {
  GetInboundRequest,
  HandlerEnvironment,
  RequestObserver,
  RequestRecord,
} from './request/inbound.ts';
export { type ConnectionInfo, type InboundRequest, inboundFromRequest } from './request/inbound.ts';
export {
  judgedResponse,
  type OnResponseHead,
  type OutboundRequest,
  type Outcome,
  passedOnResponse,
  type ResponseHead,
  type SendResult,
  type Transport,
} from './request/transport.ts';
export type { Caller, UserInfo } from './request/user-info.ts';
export { decide } from './routing/decide.ts';
export type {
  Decision,
  DecisionContext,
  DecisionReason,
  PreferredVersion,
} from './routing/decision.ts';
export type { Logger } from './runtime/logger.ts';
export { createAddressPolicy } from './snapshot/addresses/address-policy.ts';
export {
  type HandmadeOptions,
  type HandmadeServer,
  type ServedPaths,
  snapshotOf,
} from './snapshot/format/handmade-snapshot.ts';
export { parseSnapshot } from './snapshot/format/parse-snapshot.ts';
export type { ServedSet, Snapshot } from './snapshot/format/schema.ts';
export { SnapshotError, type SnapshotErrorCode } from './snapshot/format/snapshot-error.ts';
export { SnapshotReceiver, type SnapshotReceiverOptions } from './snapshot/receiving/receiver.ts';
export type { SnapshotStore } from './snapshot/receiving/snapshot-store.ts';
export { buildRoutingTable } from './snapshot/routing-table/build-routing-table.ts';
export type { RoutingTable } from './snapshot/routing-table/routing-table.ts';
export { parseSnapshotKeys } from './snapshot/signing/keys.ts';
export { openSnapshot } from './snapshot/signing/open-sealed.ts';
export {
  generateSigningKey,
  loadSigningKey,
  type SigningKey,
  sealSnapshot,
  signingKeyOf,
} from './snapshot/signing/seal.ts';
