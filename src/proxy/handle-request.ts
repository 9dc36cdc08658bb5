import { rememberingRequests } from '../apimachinery/remembered-requests.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { RequestInfoError } from '../apimachinery/request-info-error.ts';
import { internalError, statusResponse } from '../apimachinery/status.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import { AuthenticationError, askAuthenticators } from '../identity/authenticator.ts';
import { auditIdOf, hasPassedThrough, withAuditId } from '../request/headers.ts';
import { type InboundRequest, isRead, RequestRecord } from '../request/inbound.ts';
import { refuseOwnPath } from '../request/own-path-target.ts';
import type { AdmittedRequest, Router, Send } from './admitted-request.ts';
import { type Outcome, ownResponse, type ResponseToSend } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { Logger } from '../runtime/logger.ts';
import { systemClock } from '../runtime/time.ts';
import { createDecider } from './decider.ts';
import { createDelivery } from './ask-server.ts';
import { forward, provesNothing } from './forward.ts';
import type { DocumentMerger } from './merged-document.ts';
import type { RouterSettings } from './options.ts';
import { unavailable } from './unavailable.ts';

type Serve = (request: AdmittedRequest) => Outcome | Promise<Outcome>;

/**
 * The way of every request, for fetch handlers and upgrades alike: accept, identify, decide, serve; then the response is
 * given its audit ID and recorded. A failure becomes a 500 Status: fails only where `answer` fails for that, too.
 *
 * No `async`, here and in what is on the way: each further promise would cost every request. A GET that is passed on makes
 * three of them: one for the response, one for what `Router.deliver` makes of it, and one here.
 *
 * @param answer gives the client what came of it, or what a fetch handler returns for it
 */
export function handleRequest<Answer>(
  inbound: InboundRequest,
  router: Pick<Router, 'accept' | 'identify' | 'decide'>,
  logger: Logger,
  serve: Serve,
  answer: (outcome: Outcome, inbound: InboundRequest) => Answer,
): Answer | Promise<Answer> {
  const failed = (error: unknown): Answer => {
    const response = withAuditId(internalError(error, logger, auditIdOf(inbound)), inbound);
    inbound.record?.responded(response.status);
    return answer(ownResponse(response), inbound);
  };
  const finished = (outcome: Outcome): Answer => {
    try {
      if (outcome.kind === 'response' && !outcome.isPassedOn) withAuditId(outcome.response, inbound);
      inbound.record?.responded(outcome.kind === 'sent' ? outcome.status : outcome.response.status);
      return answer(outcome, inbound);
    } catch (error) {
      return failed(error);
    }
  };
  try {
    const requestInfo = router.accept(inbound);
    if ('response' in requestInfo) return finished(requestInfo);
    const decided = (caller: Caller | ResponseToSend): Outcome | Promise<Outcome> => {
      if (caller.kind === 'response') return caller;
      if (inbound.record !== undefined) inbound.record.caller = caller;
      return serve({ inbound, requestInfo, caller, decision: router.decide(inbound, requestInfo, caller) });
    };
    const caller = router.identify(inbound);
    const outcome = caller instanceof Promise ? caller.then(decided) : decided(caller);
    return outcome instanceof Promise ? outcome.then(finished, failed) : finished(outcome);
  } catch (error) {
    return failed(error);
  }
}

/** Milliseconds over which watches that have waited are opened: all of them end before the version changes. */
const watchesOpenedOver = 3_000;

/** Milliseconds between two looks whether servers have confirmed what they are, and how often it is looked. */
const untilAskedAgain = 100;
const confirmedSoon = 20;

interface SettlingRouter extends Router {
  /**
   * The request as it is to be served, later and decided anew where the version that responds changes in a moment. `deliver`
   * waits itself; a library's own handlers, to which nothing is delivered, are called with this.
   */
  settled(request: AdmittedRequest): Promise<AdmittedRequest>;
}

export function createRouter(settings: RouterSettings): SettlingRouter {
  const { authenticators, pseudonym, monotonicClock, logger, observers, gate, random, retryBudget, health } =
    settings;
  const readRequest = rememberingRequests();
  const decider = createDecider(settings);
  const deliverNow = createDelivery(settings, decider, decidedAnew);

  function accept(inbound: InboundRequest): RequestInfo | ResponseToSend {
    const record = new RequestRecord(inbound, observers, monotonicClock);
    inbound.record = record;
    if (hasPassedThrough(inbound.headers, pseudonym)) return ownResponse(loopDetected());
    try {
      const requestInfo = readRequest(inbound.method, inbound.target);
      record.accepted(requestInfo);
      const refusal = refuseOwnPath(inbound.target, requestInfo.path);
      if (refusal !== undefined) return ownResponse(refusal);
      if (!isLongRunning(requestInfo)) inbound.limitDuration?.();
      return requestInfo;
    } catch (error) {
      if (error instanceof RequestInfoError) return ownResponse(refuseTarget(error));
      throw error;
    }
  }

  function identify(inbound: InboundRequest): Caller | ResponseToSend | Promise<Caller | ResponseToSend> {
    try {
      const caller = askAuthenticators(inbound, authenticators);
      if (!(caller instanceof Promise)) return caller;
      return caller.catch((error: unknown) => refuseCaller(inbound, error, logger));
    } catch (error) {
      return refuseCaller(inbound, error, logger);
    }
  }

  function deliver(request: AdmittedRequest, send: Send): Promise<Outcome> {
    const { inbound } = request;
    retryBudget.deposit();
    // Until a response begins, a server may say that it did not process the request.
    const keepsBody = inbound.keepBody !== undefined && !isRead(inbound.method);
    if (keepsBody) inbound.keepBody?.();
    const wait = decider.untilVersionSettles(request);
    const delivered =
      wait === 0 && !decider.isUnconfirmed(request)
        ? deliverNow(request, send)
        : settled(request).then((later) => deliverNow(later, send));
    return keepsBody ? delivered.finally(() => inbound.forgetBody?.()) : delivered;
  }

  function decidedAnew(request: AdmittedRequest): Promise<AdmittedRequest> {
    const { inbound, requestInfo, caller } = request;
    return settled({ ...request, decision: decider.decide(inbound, requestInfo, caller) });
  }

  async function settled(request: AdmittedRequest): Promise<AdmittedRequest> {
    const wait = decider.untilVersionSettles(request);
    if (wait === 0 && !decider.isUnconfirmed(request)) return request;
    const { inbound, requestInfo, caller } = request;
    // Nobody waits for a client that has left; a transport sends nothing for one.
    const { signal } = inbound;
    const isForTrial = health?.areToBeTried();
    let unconfirmed = confirmedSoon;
    let spread = requestInfo.verb === 'watch' && !isForTrial ? random() * watchesOpenedOver : 0;
    // Another change may come near while it waits for anything else.
    for (let left = wait; !signal.aborted; left = decider.untilVersionSettles(request)) {
      if (left > 0) await systemClock.sleep(left, signal);
      // Servers that become several versions are asked at once; who cannot ask them responds with 503.
      else if (unconfirmed > 0 && decider.isUnconfirmed(request)) {
        unconfirmed--;
        await systemClock.sleep(untilAskedAgain, signal);
      } else if (spread > 0) {
        await systemClock.sleep(spread, signal);
        spread = 0;
      } else break;
    }
    return { ...request, decision: decider.decide(inbound, requestInfo, caller) };
  }

  return {
    accept,
    identify,
    decide: decider.decide,
    settled,
    deliverNow(request, send) {
      retryBudget.deposit();
      return deliverNow(request, send);
    },
    deliver: gate === undefined ? deliver : (request, send) => gate.pass(request, send, deliver),
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

function refuseCaller(inbound: InboundRequest, error: unknown, logger: Logger): ResponseToSend {
  if (!(error instanceof AuthenticationError)) throw error;
  const { remoteAddress } = inbound.connection;
  logger.info({ error: error.message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
  // The message names the class of error for the operator; kubectl shows it. It never holds what helps an attacker
  // (contents of credentials, keys, addresses).
  return ownResponse(statusResponse('Unauthorized', `Unauthorized: ${error.message}`));
}

export function createCarrier(settings: RouterSettings, router: Router) {
  const { routingTable, transport } = settings;
  let merger: DocumentMerger | undefined;

  /** In a module of its own: a Worker loads what merges documents when it is first asked for one (decisions/0008). */
  const loadedMerger = async (): Promise<DocumentMerger> => {
    const { DocumentMerger } = await import('./merged-document.ts');
    merger ??= new DocumentMerger(settings);
    return merger;
  };

  return {
    /** The server's response, or the merged document in its place. */
    carry(request: AdmittedRequest): Promise<Outcome> {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) {
        return forward(request, router, transport);
      }
      return loadedMerger()
        .then((documents) => documents.respond(request, table, router))
        .then((outcome) => outcome ?? forward(request, router, transport));
    },
    /** The response in place of that of a library's own handlers; `undefined` when theirs is to be passed on. */
    async inPlaceOf(response: Response, request: AdmittedRequest): Promise<Response | undefined> {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) {
        return provesNothing(request, response.status) ? unavailable('NoSnapshot') : undefined;
      }
      return (await loadedMerger()).inPlaceOf(response, request, table);
    },
  };
}
