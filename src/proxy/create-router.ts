import { parseRequestInfo, type RequestInfo, RequestInfoError } from '../apimachinery/request-info.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { authenticate } from '../identity/authenticate.ts';
import { AuthenticationError } from '../identity/authenticator.ts';
import { defaultIdentityHeaderNames } from '../identity/identity-header-names.ts';
import type { Caller } from '../identity/user-info.ts';
import { silentLogger } from '../observe/logger.ts';
import { type Decision, decide } from './decision.ts';
import { createDelivery } from './delivery.ts';
import { hasVerifiedRerouteMark } from './header-hygiene.ts';
import { type InboundRequest, queryOf } from './inbound.ts';
import type { MixedVersionProxyOptions } from './options.ts';
import { RetryBudget } from './retry.ts';
import type { AdmittedRequest, Router } from './router.ts';
import { ServerLoad } from './server-load.ts';
import { hasPassedThrough, newPseudonym } from './via.ts';

const gateIsOff: Decision = Object.freeze({
  decision: 'local',
  reason: 'FeatureGateDisabled',
  candidates: [] as const,
});

/** Builds the way of one request from what the runtime injects. */
export function createRouter(options: MixedVersionProxyOptions): Router {
  const {
    serverId,
    routingTable,
    authenticators = [],
    isVerifiedPeer = () => false,
    pseudonym = newPseudonym(),
    identityHeaderNames = defaultIdentityHeaderNames,
    identityTokens = {},
    stalePolicy = 'local',
    extensionRouting = 'local',
    enabled = true,
    clock = Date.now,
    random = Math.random,
    logger = silentLogger,
  } = options;
  const load = new ServerLoad(clock);
  const deliver = createDelivery({
    local: options.local,
    identityHeaderNames,
    identityTokens,
    pseudonym,
    load,
    budget: new RetryBudget(),
    random,
    logger,
  });

  const accept = (inbound: InboundRequest): RequestInfo | Response => {
    if (hasPassedThrough(inbound.headers, pseudonym)) return loopDetected();
    try {
      return parseRequestInfo(inbound.method, inbound.target);
    } catch (error) {
      if (error instanceof RequestInfoError) return refuseTarget(error);
      throw error;
    }
  };

  const identify = async (inbound: InboundRequest): Promise<Caller | Response> => {
    try {
      return await authenticate(inbound, authenticators);
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error;
      logger.info({ error: error.message, remoteAddress: inbound.connection.remoteAddress }, 'Unauthorized');
      // Says which class of fault it is, so that an operator can mend it; kubectl shows it. What helps an attacker
      // (contents of credentials, keys, addresses) is in no such message.
      return statusResponse('Unauthorized', `Unauthorized: ${error.message}`);
    }
  };

  // Upstream's peers send upgrades without a user: there the connection's own certificate is what counts.
  const isRerouted = (inbound: InboundRequest, caller: Caller): boolean =>
    hasVerifiedRerouteMark(inbound.headers, caller, isVerifiedPeer(inbound));

  const decideFor = (inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision => {
    if (!enabled) return gateIsOff;
    return decide(requestInfo, routingTable.current(), {
      serverId,
      now: clock(),
      query: queryOf(inbound.target),
      reroutedByVerifiedPeer: isRerouted(inbound, caller),
      stalePolicy,
      // An extension server is told who calls, never given credentials that it could use elsewhere: callers
      // whom the router did not authenticate go through the local aggregator, which authenticates them.
      extensionRouting: caller.kind === 'authenticated' ? extensionRouting : 'local',
    });
  };

  return {
    accept,
    identify,
    decide: decideFor,
    async admit(inbound) {
      const requestInfo = accept(inbound);
      if (requestInfo instanceof Response) return { kind: 'refused', response: requestInfo };
      const caller = await identify(inbound);
      if (caller instanceof Response) return { kind: 'refused', response: caller };
      const decision = decideFor(inbound, requestInfo, caller);
      const request: AdmittedRequest = { inbound, requestInfo, caller, decision };
      return { kind: 'admitted', request };
    },
    deliver,
  };
}

/** Asking again would go round again: there is no Retry-After. */
function loopDetected(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'the request came back to a router that it had passed: routers send it to each other, or one of them has itself for its local server',
    { causes: [{ reason: 'LoopDetected', message: 'the Via header names this router' }] },
  );
}

function refuseTarget(error: RequestInfoError): Response {
  // Kubernetes answers a path verb with nothing behind it with 500 (pkg/endpoints/filters/requestinfo.go).
  return error.code === 'UnableToDetermineResource'
    ? statusResponse('InternalError', error.message)
    : statusResponse('BadRequest', error.message);
}
