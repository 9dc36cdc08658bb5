import { rememberingRequests } from '../apimachinery/remembered-requests.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { RequestInfoError } from '../apimachinery/request-info-error.ts';
import { internalError, statusResponse } from '../apimachinery/status.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import { AuthenticationError, askAuthenticators } from '../identity/authenticator.ts';
import { auditIdOf, hasPassedThrough, withAuditId } from '../request/headers.ts';
import { type InboundRequest, isRead, RequestRecord } from '../request/inbound.ts';
import { refuseOwnPath } from '../request/own-path-target.ts';
import { type Outcome, ownResponse, type ResponseToSend } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import { policyWarning } from '../routing/policy-warning.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AdmittedRequest, Router, Send } from './admitted-request.ts';
import { ServerAsking } from './ask-server.ts';
import { Decider } from './decider.ts';
import { forwardBy } from './forward.ts';
import { untoldWarning } from './hold-back.ts';
import { provesNothing } from './judge-response.ts';
import type { DocumentMerger } from './merged-document.ts';
import type { RouterSettings } from './options.ts';
import type { Failed } from './other-servers.ts';
import { settled } from './settle.ts';
import { unavailable } from './unavailable.ts';

/** Serves what is admitted: `HttpRouter.serve`, or `Router.deliver` with an upgrade's own way to send. */
type Serve = (request: AdmittedRequest) => Promise<Outcome>;

/**
 * The way of every request, for fetch handlers and upgrades alike: accept (400), identify (401), decide by one view, serve; then the
 * response is given its audit ID and recorded. A failure becomes a 500 Status. Nearly no request has to wait before it is sent: who is
 * asked returns a promise only where it does, for each promise costs every request.
 */
export async function handleRequest(
  inbound: InboundRequest,
  router: Pick<Router, 'accept' | 'identify' | 'decide'>,
  serve: Serve,
  logger: Logger,
): Promise<Outcome> {
  try {
    const requestInfo = router.accept(inbound);
    if ('response' in requestInfo) return responded(inbound, requestInfo);
    const identified = router.identify(inbound);
    const caller = identified instanceof Promise ? await identified : identified;
    if (caller.kind === 'response') return responded(inbound, caller);
    if (inbound.record !== undefined) inbound.record.caller = caller;
    return responded(inbound, await serve(router.decide(inbound, requestInfo, caller)));
  } catch (error) {
    return responded(inbound, ownResponse(internalError(error, logger, auditIdOf(inbound))));
  }
}

/** @returns the same outcome, recorded; the router's own response with the audit ID of the request */
function responded(inbound: InboundRequest, outcome: Outcome): Outcome {
  if (outcome.kind === 'response' && !outcome.isPassedOn) withAuditId(outcome.response, inbound);
  inbound.record?.responded(outcome.kind === 'sent' ? outcome.status : outcome.response.status);
  return outcome;
}

/** The router of ordinary requests, which a transport sends. */
export class HttpRouter implements Router {
  readonly #settings: RouterSettings;
  readonly #readRequest = rememberingRequests();
  readonly #decider: Decider;
  readonly #asking: ServerAsking;
  readonly #forward: Send;
  #merger: DocumentMerger | undefined;

  constructor(settings: RouterSettings) {
    const { transport, preferredVersion, steadyClock } = settings;
    this.#settings = settings;
    this.#decider = new Decider(settings);
    this.#asking = new ServerAsking(settings, this.#decider);
    this.#forward = forwardBy(transport, {
      // A request that a router has sent here carries the warning of that router.
      warningOf: (request) => {
        const { requestInfo, decision, view } = request;
        if (decision.reason === 'AlreadyRerouted') return undefined;
        const untold = untoldWarning(request, settings);
        if (untold !== undefined || view.known?.comparison === undefined) return untold;
        return policyWarning(requestInfo, view.known, { now: steadyClock(), preferredVersion });
      },
    });
  }

  accept(inbound: InboundRequest): RequestInfo | ResponseToSend {
    const { observers, monotonicClock, pseudonym } = this.#settings;
    const record = new RequestRecord(inbound, observers, monotonicClock);
    inbound.record = record;
    if (hasPassedThrough(inbound.headers, pseudonym)) return ownResponse(loopDetected());
    try {
      const requestInfo = this.#readRequest(inbound.method, inbound.target);
      record.accepted(requestInfo);
      const refusal = refuseOwnPath(inbound.target, requestInfo.path, inbound.isUpgrade);
      if (refusal !== undefined) return ownResponse(refusal);
      if (!isLongRunning(requestInfo)) inbound.limitDuration?.();
      return requestInfo;
    } catch (error) {
      if (error instanceof RequestInfoError) return ownResponse(refuseTarget(error));
      throw error;
    }
  }

  identify(inbound: InboundRequest): Caller | ResponseToSend | Promise<Caller | ResponseToSend> {
    const { authenticators, logger } = this.#settings;
    try {
      const caller = askAuthenticators(inbound, authenticators);
      if (!(caller instanceof Promise)) return caller;
      return caller.catch((error: unknown) => refuseCaller(inbound, error, logger));
    } catch (error) {
      return refuseCaller(inbound, error, logger);
    }
  }

  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): AdmittedRequest {
    return this.#decider.decide(inbound, requestInfo, caller);
  }

  /** @returns the response of an API server, or the merged document in its place */
  serve(request: AdmittedRequest): Promise<Outcome> {
    return isMerged(request) ? this.#serveMerged(request) : this.deliver(request, this.#forward);
  }

  deliver(request: AdmittedRequest, send: Send): Promise<Outcome> {
    const { refuse, gate } = this.#settings;
    const refusal = refuse?.(request);
    if (refusal !== undefined) return Promise.resolve(ownResponse(refusal));
    return gate === undefined
      ? this.#trySettled(request, send)
      : gate.pass(request, () => this.#trySettled(request, send));
  }

  async deliverNow(question: Omit<AdmittedRequest, 'view'>, send: Send): Promise<Outcome> {
    const request = { ...question, view: this.#decider.view() };
    const refusal = this.#settings.refuse?.(request);
    if (refusal !== undefined) return ownResponse(refusal);
    this.#settings.retryBudget.deposit();
    return this.#tryServers(request, send);
  }

  /**
   * `deliver` waits itself; a library's own handlers, to which nothing is delivered, are called with this.
   * @returns the request as it is to be served, later and decided anew where the version that responds changes in a moment
   */
  settled(request: AdmittedRequest): AdmittedRequest | Promise<AdmittedRequest> {
    return settled(request, this.#decider, this.#settings);
  }

  /** @returns the response in place of that of a library's own handlers; `undefined` when theirs is to be passed on */
  async inPlaceOf(response: Response, request: AdmittedRequest): Promise<Response | undefined> {
    if (isMerged(request)) return (await this.#merging()).inPlaceOf(response, request);
    return provesNothing(request, response.status) ? unavailable('NoSnapshot') : undefined;
  }

  async #serveMerged(request: AdmittedRequest): Promise<Outcome> {
    const deliver: Router['deliver'] = (each, send) => this.deliver(each, send);
    const merged = await (await this.#merging()).respond(request, deliver);
    return merged ?? this.deliver(request, this.#forward);
  }

  /** In a module of its own: a Worker loads what merges documents when it is first asked for one (decisions/0008). */
  async #merging(): Promise<DocumentMerger> {
    const { DocumentMerger } = await import('./merged-document.ts');
    this.#merger ??= new DocumentMerger(this.#settings);
    return this.#merger;
  }

  #trySettled(request: AdmittedRequest, send: Send): Promise<Outcome> {
    const { inbound } = request;
    this.#settings.retryBudget.deposit();
    // Until a response begins, a server may say that it did not process the request.
    const keepsBody = inbound.keepBody !== undefined && !isRead(inbound.method);
    if (keepsBody) inbound.keepBody?.();
    const outcome = this.#tryServers(this.settled(request), send);
    return keepsBody ? outcome.finally(() => inbound.forgetBody?.()) : outcome;
  }

  /** The loop of tries: the first server, then whoever `Tries` names after each failure. */
  async #tryServers(admitted: AdmittedRequest | Promise<AdmittedRequest>, send: Send): Promise<Outcome> {
    const asking = this.#asking;
    const chosen = asking.first(admitted instanceof Promise ? await admitted : admitted);
    const first = chosen instanceof Promise ? await chosen : chosen;
    if (first.kind === 'response') return first;
    const { request } = first;
    let result = await asking.ask(request, first, send, asking.othersLeft(first));
    if (!isFailed(result)) return result;
    // In a module of its own: a Worker loads it with the first request that a server has failed (decisions/0008).
    const { Tries } = await import('./tries.ts');
    const tries = new Tries(asking, request, first.server, result);
    for (;;) {
      const next = await tries.next();
      if (next.kind === 'response') return next;
      result = await asking.ask(tries.request, next, send);
      if (!isFailed(result)) return result;
      tries.failed(next.server, result);
    }
  }
}

function isMerged({ decision, view }: AdmittedRequest): boolean {
  return decision.reason === 'MergedDocument' && view.snapshot !== undefined;
}

function isFailed(result: Outcome | Failed): result is Failed {
  return result.kind === 'refusal' || result.kind === 'no response';
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

/** @throws what is no refusal of credentials */
function refuseCaller(inbound: InboundRequest, error: unknown, logger: Logger): ResponseToSend {
  if (!(error instanceof AuthenticationError)) throw error;
  const { remoteAddress } = inbound.connection;
  logger.info({ error: error.message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
  // The message names the class of error for the operator; kubectl shows it. It never holds what helps an attacker
  // (contents of credentials, keys, addresses).
  return ownResponse(statusResponse('Unauthorized', `Unauthorized: ${error.message}`));
}
