import { statusResponse } from '../../apimachinery/status.ts';
import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import { PeerAssertionAuthenticator } from '../../identity/assertion/verify-assertion.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { RequestHeaderAuthenticator } from '../../identity/request-header.ts';
import { X509Authenticator } from '../../identity/x509.ts';
import type { MixedVersionProxyOptions, RouterParts } from '../../proxy/options.ts';
import { auditIdOf } from '../../request/headers.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';

/**
 * The authenticators of a configuration, in the order in which they are asked: front proxies, then assertions, then
 * client certificates. A connection's own identity must not replace the one that it asserts.
 *
 * - A gateway without a front-proxy pair knows callers by their certificates only: for its own paths, and to refuse them
 *   on all others. API servers verify the tokens.
 * - A router with a local server and without such a pair has none (the feature gate is off): callers use their own
 *   credentials there.
 */
export function nodeAuthenticators(
  config: ServeConfig,
  assertion: Authenticator | undefined,
): Required<Pick<MixedVersionProxyOptions, 'authenticators' | 'isVerifiedPeer'>> {
  const { requestHeader, clientCa } = config;
  const x509 = clientCa === undefined ? [] : [new X509Authenticator()];
  const isVerifiedPeer = () => false;
  if (isTokenGateway(config)) return { authenticators: x509, isVerifiedPeer };
  if (config.proxyClient === undefined) return { authenticators: [], isVerifiedPeer };
  const others = [...(assertion === undefined ? [] : [assertion]), ...x509];
  if (requestHeader === undefined) return { authenticators: others, isVerifiedPeer };
  const frontProxy = new RequestHeaderAuthenticator({
    allowedNames: requestHeader.allowedNames,
    headerNames: config.identityHeaderNames,
  });
  return {
    authenticators: [frontProxy, ...others],
    isVerifiedPeer: (inbound) => frontProxy.isVerifiedPeer(inbound),
  };
}

/** A gateway that has nothing to tell API servers with who calls: callers' own tokens pass through it. */
export function isTokenGateway({ local, proxyClient }: Pick<ServeConfig, 'local' | 'proxyClient'>): boolean {
  return local === undefined && proxyClient === undefined;
}

/** Without pinned keys assertions are ignored. @param keys called for each assertion */
export function assertionAuthenticator(
  serverId: (() => string) | undefined,
  keys: () => AssertionKeySet,
  logger: Logger,
): Authenticator | undefined {
  // Assertions are addressed to an API server ID, which a gateway does not have.
  if (serverId === undefined) return undefined;
  const authenticator = new PeerAssertionAuthenticator({
    keys,
    get audience() {
      return serverId();
    },
    logger,
  });
  return {
    name: authenticator.name,
    authenticate: (inbound) => (keys().size === 0 ? undefined : authenticator.authenticate(inbound)),
  };
}

const message =
  'Unauthorized: this gateway has no front-proxy certificate and cannot tell API servers who a client certificate names: send a bearer token, and no client certificate';

/**
 * For a gateway that cannot tell API servers who calls: callers whom it has authenticated get 401. Every request to a
 * server is asked about, so that none is sent as an anonymous one, or as the user of a second credential.
 */
export function refuseAuthenticated(logger: Logger): NonNullable<RouterParts['refuse']> {
  return ({ caller, inbound }) => {
    if (caller.kind !== 'authenticated') return undefined;
    const { remoteAddress } = inbound.connection;
    logger.info({ error: message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
    return statusResponse('Unauthorized', message);
  };
}
