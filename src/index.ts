/** The portable core: everything here runs on any runtime with web standards. */

export type { RawHeaders } from './apimachinery/raw-headers.ts';
export {
  parseRequestInfo,
  type RequestInfo,
  RequestInfoError,
  type RequestInfoErrorCode,
} from './apimachinery/request-info.ts';
export { type AppOptions, createApp } from './app.ts';
export type { DiscoveryView } from './discovery/discovery-view.ts';
export { mergeDiscovery } from './discovery/merge-discovery.ts';
export {
  type AssertionKey,
  type AssertionKeySet,
  parseAssertionKeys,
} from './identity/assertion/assertion-keys.ts';
export { PeerAssertionAuthenticator } from './identity/assertion/peer-assertion.ts';
export {
  PeerAssertionError,
  type PeerAssertionErrorCode,
} from './identity/assertion/peer-assertion-error.ts';
export { type AssertionSignerOptions, createAssertionSigner } from './identity/assertion/sign-assertion.ts';
export type { AssertionVerifierOptions } from './identity/assertion/verify-assertion.ts';
export { AuthenticationError, type Authenticator } from './identity/authenticator.ts';
export {
  IdentityTokenError,
  type IdentityTokenSigner,
  type IdentityTokenSigners,
} from './identity/identity-token.ts';
export { CachedKeys, type CachedKeysOptions } from './identity/jwt/cached-keys.ts';
export type { FetchDocument } from './identity/jwt/fetch-document.ts';
export { JwtAuthenticator, type JwtAuthenticatorOptions } from './identity/jwt/jwt-authenticator.ts';
export { parseKeySet } from './identity/jwt/key-set.ts';
export { fixedKeys, type KeySource } from './identity/jwt/key-source.ts';
export { keysFromDiscovery, keysFromUrl } from './identity/jwt/load-keys.ts';
export { parseAuthenticationConfiguration } from './identity/jwt/parse-configuration.ts';
export { serviceAccountIssuer } from './identity/jwt/service-account-issuer.ts';
export { externalIssuer, type TokenIssuer, type TokenPolicy } from './identity/jwt/token-issuer.ts';
export { createOidcIssuer, type OidcIssuer } from './identity/oidc-token/oidc-issuer.ts';
export { createOidcTokenSigner, type OidcTokenSignerOptions } from './identity/oidc-token/sign-oidc-token.ts';
export { RequestHeaderAuthenticator } from './identity/request-header.ts';
export { stampIdentity } from './identity/stamp-identity.ts';
export type { Caller, UserInfo } from './identity/user-info.ts';
export { X509Authenticator } from './identity/x509.ts';
export type { Logger } from './observe/logger.ts';
export type {
  AttemptFailure,
  DropReason,
  RequestObservation,
  RequestObserver,
} from './observe/request-observer.ts';
export {
  type Decision,
  type DecisionContext,
  type DecisionReason,
  type DecisionStep,
  decide,
  type StalePolicy,
} from './proxy/decision.ts';
export { type Explanation, explainRequest } from './proxy/explain.ts';
export type { HandlerEnvironment } from './proxy/handler-environment.ts';
export { HealthMonitor, type HealthMonitorOptions } from './proxy/health/health-monitor.ts';
export { createProbe, type ProbeOptions } from './proxy/health/probe.ts';
export {
  type HealthChange,
  type HealthObserver,
  ServerHealth,
  type ServerHealthOptions,
  type ServerHealthReport,
} from './proxy/health/server-health.ts';
export { RequestGate } from './proxy/in-flight/request-gate.ts';
export type { RequestKind } from './proxy/in-flight/request-kind.ts';
export type { InFlightLimits, InFlightReading } from './proxy/in-flight/requests-in-flight.ts';
export { type ConnectionInfo, type InboundRequest, inboundFromRequest } from './proxy/inbound.ts';
export { type MiddlewareOptions, mixedVersionProxy } from './proxy/middleware.ts';
export type { LocalServerDownPolicy, MixedVersionProxyOptions, RoutingTableSource } from './proxy/options.ts';
export {
  type ByteCounter,
  type Destination,
  type OutboundRequest,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './proxy/transport.ts';
export { createAddressPolicy } from './snapshot/address-policy.ts';
export { buildRoutingTable } from './snapshot/build-routing-table.ts';
export { type PinnedKeySet, parseSnapshotKeys } from './snapshot/keys.ts';
export { createMemorySnapshotStore } from './snapshot/memory-snapshot-store.ts';
export { openSnapshot } from './snapshot/open.ts';
export { parseSnapshot } from './snapshot/parse-snapshot.ts';
export { SnapshotReceiver } from './snapshot/receiver.ts';
export type { RoutingServer, RoutingTable } from './snapshot/routing-table.ts';
export { sealSnapshot } from './snapshot/seal.ts';
export { generateSigningKey, loadSigningKey, type SigningKey, signingKeyOf } from './snapshot/signing-key.ts';
export { SnapshotError, type SnapshotErrorCode } from './snapshot/snapshot-error.ts';
export type { SnapshotStore } from './snapshot/snapshot-store.ts';
export type { Snapshot } from './snapshot/types.ts';
