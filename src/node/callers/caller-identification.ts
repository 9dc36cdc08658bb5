import { statusResponse } from '../../apimachinery/status.ts';
import type { Authenticator } from '../../identity/incoming/authenticator.ts';
import { RequestHeaderAuthenticator } from '../../identity/incoming/request-header.ts';
import { X509Authenticator } from '../../identity/incoming/x509.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Router } from '../../request/router.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { canAssertLocally, isTokenGateway } from './destination-identity.ts';

export interface CallerIdentification {
  readonly authenticators: readonly Authenticator[];
  readonly isVerifiedPeer: (inbound: InboundRequest) => boolean;
}

/**
 * Makes the authenticators of a configuration.
 *
 * - A gateway without a front-proxy pair knows callers by their certificates only: for its own paths, and to refuse them
 *   on all others. API servers verify the tokens.
 * - A router that cannot assert identities to the local server has none: callers use their own credentials there.
 */
export function callerIdentification(
  config: ServeConfig,
  assertion: Authenticator | undefined,
  jwt: Authenticator | undefined,
): CallerIdentification {
  const { requestHeader, clientCa } = config;
  if (isTokenGateway(config)) {
    return {
      authenticators: clientCa === undefined ? [] : [new X509Authenticator()],
      isVerifiedPeer: () => false,
    };
  }
  if (!canAssertLocally(config)) return { authenticators: [], isVerifiedPeer: () => false };
  const others = [
    // Before client certificates: a connection's own identity must not replace the one that it asserts.
    ...(assertion === undefined ? [] : [assertion]),
    ...(clientCa === undefined ? [] : [new X509Authenticator()]),
    ...(jwt === undefined ? [] : [jwt]),
  ];
  if (requestHeader === undefined) return { authenticators: others, isVerifiedPeer: () => false };
  const frontProxy = new RequestHeaderAuthenticator({
    // For the authenticator, as for Kubernetes, an empty list allows any name.
    allowedNames: requestHeader.allowedNames === 'any' ? [] : requestHeader.allowedNames,
    headerNames: config.identityHeaderNames,
  });
  return {
    authenticators: [frontProxy, ...others],
    isVerifiedPeer: (inbound) => frontProxy.isVerifiedPeer(inbound),
  };
}

const message =
  'Unauthorized: this gateway has no front-proxy certificate and cannot tell API servers who a client certificate names: send a bearer token, and no client certificate';

/**
 * For a gateway that cannot tell API servers who calls: callers whom it has authenticated get 401. Every request to a
 * server passes here, so that none is sent as an anonymous one, or as the user of a second credential.
 */
export function refuseAuthenticated(router: Router, logger: Logger): Router {
  return {
    ...router,
    deliver(request, send) {
      const { caller, inbound } = request;
      if (caller.kind !== 'authenticated') return router.deliver(request, send);
      const { remoteAddress } = inbound.connection;
      logger.info({ error: message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
      return Promise.resolve(statusResponse('Unauthorized', message));
    },
  };
}
