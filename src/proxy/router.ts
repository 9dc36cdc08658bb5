import { isLongRunning } from '../apimachinery/long-running.ts';
import { rememberingRequests } from '../apimachinery/remembered-requests.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { RequestInfoError } from '../apimachinery/request-info-error.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { askAuthenticators } from '../identity/ask-authenticators.ts';
import { AuthenticationError } from '../identity/authenticator.ts';
import { auditIdOf, defaultIdentityHeaderNames, hasPassedThrough, newPseudonym } from '../request/headers.ts';
import type { InboundRequest } from '../request/inbound.ts';
import { RequestRecord } from '../request/request-record.ts';
import type { AdmittedRequest, Router, Send } from '../request/router.ts';
import { type Outcome, ownResponse, type ResponseToSend } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { Decision } from '../routing/decision.ts';
import { silentLogger } from '../runtime/logger.ts';
import { createDecider } from './decider.ts';
import { createDelivery } from './delivery/delivery.ts';
import { RetryBudget } from './delivery/other-servers.ts';
import { ServerLoad } from './delivery/server-choice.ts';
import { forward, replacementFor } from './forward.ts';
import type { DocumentMerger } from './merged-document.ts';
import type { MixedVersionProxyOptions } from './options.ts';

/**
 * Builds the router from what the runtime injects.
 * @throws {TypeError} for a gateway that is to pass everything to a local server.
 */
export function createRouter(options: MixedVersionProxyOptions): Router {
  if (options.local === undefined && options.enabled === false) {
    throw new TypeError('A gateway has no local server: enabled false needs local.');
  }
  const {
    authenticators = [],
    pseudonym = newPseudonym(),
    identityHeaderNames = defaultIdentityHeaderNames,
    monotonicClock = () => performance.now(),
    random = Math.random,
    logger = silentLogger,
    observers = [],
    load = new ServerLoad(monotonicClock),
    retryBudget = new RetryBudget(),
    gate,
  } = options;
  const readRequest = rememberingRequests();
  const decider = createDecider(options, load);
  const deliver = createDelivery({
    ...decider,
    routingTable: options.routingTable,
    local: options.local,
    identityHeaderNames,
    assertionSigner: options.assertionSigner,
    pseudonym,
    load,
    health: options.health,
    budget: retryBudget,
    random,
    logger,
    monotonicClock,
  });

  const accept = (inbound: InboundRequest): RequestInfo | ResponseToSend => {
    const record = new RequestRecord(inbound, observers, monotonicClock);
    inbound.record = record;
    if (hasPassedThrough(inbound.headers, pseudonym)) return ownResponse(loopDetected());
    try {
      const requestInfo = readRequest(inbound.method, inbound.target);
      record.accepted(requestInfo);
      if (!isLongRunning(requestInfo)) inbound.limitDuration?.();
      return requestInfo;
    } catch (error) {
      if (error instanceof RequestInfoError) return ownResponse(refuseTarget(error));
      throw error;
    }
  };

  const identify = (inbound: InboundRequest): ReturnType<Router['identify']> => {
    try {
      const caller = askAuthenticators(inbound, authenticators);
      if (caller instanceof Promise) {
        return caller.then(
          (known) => identified(inbound, known),
          (error: unknown) => ownResponse(refuseCaller(inbound, error)),
        );
      }
      return identified(inbound, caller);
    } catch (error) {
      return ownResponse(refuseCaller(inbound, error));
    }
  };

  const identified = (inbound: InboundRequest, caller: Caller): Caller => {
    inbound.record?.identified(caller);
    return caller;
  };

  const refuseCaller = (inbound: InboundRequest, error: unknown): Response => {
    if (!(error instanceof AuthenticationError)) throw error;
    logger.info(
      {
        error: error.message,
        remoteAddress: inbound.connection.remoteAddress,
        'audit-ID': auditIdOf(inbound),
      },
      'Unauthorized',
    );
    // The message names the class of error for the operator; kubectl shows it. It never holds what helps an attacker
    // (contents of credentials, keys, addresses).
    return statusResponse('Unauthorized', `Unauthorized: ${error.message}`);
  };

  const decide = (inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision => {
    const decision = decider.decide(inbound, requestInfo, caller);
    inbound.record?.decided(decision);
    return decision;
  };

  const deliverSettled: Router['deliver'] = (request, send) => {
    const wait = decider.untilVersionSettles(request.requestInfo);
    return wait === 0 ? deliver(request, send) : deliverLater(request, send, wait);
  };

  const deliverLater = async (
    request: AdmittedRequest,
    send: Send,
    wait: number,
  ): ReturnType<typeof deliver> => {
    const { inbound, requestInfo, caller } = request;
    // A timer may fire a millisecond early.
    for (let left = wait; left > 0; left = decider.untilVersionSettles(requestInfo)) {
      await new Promise((resolve) => setTimeout(resolve, left));
    }
    return deliver({ ...request, decision: decide(inbound, requestInfo, caller) }, send);
  };

  return {
    accept,
    identify,
    decide,
    deliver:
      gate === undefined
        ? deliverSettled
        : (request, send) => gate.pass(request, () => deliverSettled(request, send)),
  };
}

/** Without Retry-After: a repeated request would loop again. */
function loopDetected(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'the request came back to a router that it had passed: routers send it to each other, or one of them has itself for its local server',
    { causes: [{ reason: 'LoopDetected', message: 'the Via header names this router' }] },
  );
}

function refuseTarget(error: RequestInfoError): Response {
  // Kubernetes responds to a path verb with nothing after it with 500 (pkg/endpoints/filters/requestinfo.go).
  return error.code === 'UnableToDetermineResource'
    ? statusResponse('InternalError', error.message)
    : statusResponse('BadRequest', error.message);
}

/** Takes admitted requests to API servers and brings their responses. */
interface Carrier {
  /** The server's response, or the merged document in its place. */
  carry(request: AdmittedRequest): Promise<Outcome>;
  /** The response in place of that of a library's own handlers; `undefined` when theirs is to be passed on. */
  inPlaceOf(response: Response, request: AdmittedRequest): Promise<Response | undefined>;
}

export function createCarrier(options: MixedVersionProxyOptions, router: Router): Carrier {
  const { routingTable, transport } = options;
  let merger: DocumentMerger | undefined;

  /** In a module of its own: a Worker loads what merges documents when it is first asked for one (docs/decisions/0008). */
  const loadedMerger = async (): Promise<DocumentMerger> => {
    const { DocumentMerger } = await import('./merged-document.ts');
    merger ??= new DocumentMerger(options);
    return merger;
  };
  const forwarded = (request: AdmittedRequest): Promise<Outcome> =>
    forward(request, router, transport, { replacement: replacementFor(request) });

  return {
    carry(request) {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) return forwarded(request);
      return loadedMerger()
        .then((documents) => documents.respond(request, table, router))
        .then((outcome) => outcome ?? forwarded(request));
    },
    async inPlaceOf(response, request) {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) {
        return replacementFor(request)?.(response.status);
      }
      return (await loadedMerger()).inPlaceOf(response, request, table);
    },
  };
}
