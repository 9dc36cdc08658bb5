import { statusResponse } from '../../apimachinery/status.ts';
import type { ServerHealth } from '../../health/server-health.ts';
import { IdentityTokenError } from '../../identity/identity-token.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import { announcesBody, canBeSentAgain, type InboundRequest } from '../../request/inbound.ts';
import type { AttemptFailure } from '../../request/request-observer.ts';
import { isRead, maySafelyTryAnother, type RetryBudget } from '../../request/retry.ts';
import type { AdmittedRequest, Router } from '../../request/router.ts';
import {
  type Destination,
  foundNoConnection,
  type OutboundRequest,
  TransportError,
} from '../../request/transport.ts';
import { chooseServer, type ServerState } from '../../routing/choose-server.ts';
import { FailureLog } from '../../runtime/failure-log.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
import { extensionDestination, peerDestination } from './destinations.ts';
import { mayBeDenied, NotServedAnswer, servedSetsChanging } from './not-served.ts';
import { buildOutboundRequest, type OutboundOptions } from './outbound.ts';
import type { ServerLoad } from './server-load.ts';
import {
  addressUnknown,
  knowledgeMissing,
  noAnswer,
  retryAfterSeconds,
  serverNotReady,
  serviceUnavailable,
  unavailable,
} from './undelivered.ts';

export interface DeliveryOptions extends OutboundOptions {
  /** Left out in the gateway form, in which nothing is decided to be local. */
  readonly local?: Destination | undefined;
  readonly load: ServerLoad;
  /** Default: nothing is known but what requests themselves have met lately (`load`). */
  readonly health?: ServerHealth | undefined;
  /** Who else may answer a request that the local server did not; `undefined` when nobody may. */
  readonly inPlaceOfLocal?: ((request: AdmittedRequest) => readonly RoutingServer[] | undefined) | undefined;
  /** Who else serves what the local server should and does not. Default: nobody. */
  readonly othersThanLocal?: ((request: AdmittedRequest) => readonly RoutingServer[] | undefined) | undefined;
  /** Whether a server that has left for a while is known to serve what is asked for. Default: none is. */
  readonly isServedByDepartedServer?: ((request: AdmittedRequest) => boolean) | undefined;
  readonly budget: RetryBudget;
  readonly random: () => number;
  readonly logger: Logger;
  /** Milliseconds of a clock that only rises. */
  readonly monotonicClock: () => number;
}

/** The last part of every request's way: choose, stamp, send; one second try where that is safe. */
export function createDelivery(options: DeliveryOptions): Router['deliver'] {
  const { local, load, health, inPlaceOfLocal, othersThanLocal, budget, random, logger, monotonicClock } =
    options;
  const failures = new FailureLog({ logger, clock: monotonicClock });
  const state: ServerState = {
    inFlight: (id) => load.inFlight(id),
    isAvoided: (id) => load.isAvoided(id) || health?.isAvoided(id) === true,
    weight: (id) => health?.weight(id) ?? 1,
  };

  // No `async` here and in what calls it first: each one more costs every request a promise and a turn of the queue.
  function attempt<Answer>(
    request: AdmittedRequest,
    destination: Destination,
    send: (outbound: OutboundRequest) => Promise<Answer>,
    othersLeft?: () => boolean,
  ): Promise<Answer | Response | TransportError> {
    const { inbound } = request;
    const end = load.begin(destination.id);
    inbound.observed?.attemptBegun(destination);
    const answered = (answer: Answer): Answer => {
      if (inbound.onFinished === undefined) end();
      else inbound.onFinished(end);
      load.reached(destination.id);
      health?.answered(destination.id);
      return answer;
    };
    const failed = (error: unknown): Response | TransportError => {
      end();
      return failedAttempt(inbound, destination, error);
    };
    return sendTo(request, destination, send, othersLeft).then(answered, failed);
  }

  function sendTo<Answer>(
    request: AdmittedRequest,
    destination: Destination,
    send: (outbound: OutboundRequest) => Promise<Answer>,
    othersLeft?: () => boolean,
  ): Promise<Answer> {
    try {
      const built = buildOutboundRequest(request, destination, options, othersLeft);
      return built instanceof Promise ? built.then(send) : send(built);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @throws what is a fault of the router itself. */
  function failedAttempt(
    inbound: InboundRequest,
    destination: Destination,
    error: unknown,
  ): Response | TransportError {
    inbound.observed?.attemptFailed(failureOf(error));
    if (error instanceof IdentityTokenError) return statusResponse('RequestEntityTooLarge', error.message);
    if (!(error instanceof TransportError)) throw error;
    const isClients = isClientsDoing(error);
    if (!isClients) {
      // One slow request says nothing of a server: only what never reached it does. Who is probed has better to say.
      if (!error.requestMayHaveArrived && health?.isProbed(destination.id) !== true) {
        load.notReached(destination.id);
      }
      // No connection counts against it; no answer on one only makes it be looked at (`ServerHealth`).
      if (foundNoConnection(error)) health?.notConnected(destination.id);
      else health?.unanswered(destination.id);
    }
    const { code, message, requestMayHaveArrived } = error;
    // Clients come and go, thousands at once in a reset flood: that is no news of a destination.
    const fields = {
      destination: destination.id,
      kind: destination.kind,
      code,
      requestMayHaveArrived,
      error: message,
      'audit-ID': auditIdOf(inbound),
    };
    const text = 'A destination gave no answer';
    if (isClients) logger.debug(fields, text);
    else failures.warn(`${destination.kind} ${destination.id}: ${code}`, fields, text);
    return error;
  }

  const isRestarting = (id: string): boolean => health?.isRestarting(id) === true;

  /**
   * One that is not restarting. A server that has ended and is not ready yet would refuse what it should not: its false
   * 403 ends a client's work, a 503 with Retry-After has it ask again. Every other unhealthy server is used when nothing
   * else is left, for its `/readyz` may be wrong.
   */
  function chooseUsable(
    candidates: readonly RoutingServer[],
    except?: RoutingServer,
  ): RoutingServer | undefined {
    const chosen = chooseServer(candidates, state, random, except);
    if (chosen === undefined || !isRestarting(chosen.id)) return chosen;
    const usable = candidates.filter((candidate) => candidate !== except && !isRestarting(candidate.id));
    return chooseServer(usable, state, random);
  }

  /** Asked when a server has been silent for long. */
  function mayTryAnother(candidates: readonly RoutingServer[], tried?: RoutingServer): boolean {
    return budget.left >= 1 && chooseUsable(candidates, tried) !== undefined;
  }

  function notReady({ inbound }: AdmittedRequest): Response {
    inbound.observed?.dropped('ServerNotReady');
    return serverNotReady();
  }

  function deliverToPeer<Answer>(
    request: AdmittedRequest,
    candidates: readonly RoutingServer[],
    send: (outbound: OutboundRequest) => Promise<Answer>,
  ): Promise<Answer | Response> {
    const first = chooseUsable(candidates);
    const settled = first && health?.settled(first.id);
    if (settled !== undefined) return settled.then(() => deliverToPeer(request, candidates, send));
    const firstDestination = first && peerDestination(first);
    if (first === undefined && candidates.length > 0) return Promise.resolve(notReady(request));
    if (first === undefined || firstDestination === undefined) return Promise.resolve(addressUnknown());
    const othersLeft = (): boolean => mayTryAnother(candidates, first);
    return attempt(request, firstDestination, send, othersLeft).then((answer) => {
      if (answer instanceof NotServedAnswer) return askAnother(request, candidates, first, answer, send);
      if (!(answer instanceof TransportError)) return answer;
      return tryAnother(request, candidates, first, answer, send);
    });
  }

  /**
   * A server does not have what the snapshot says it serves. Another one that should have it is asked, without a
   * withdrawal from the budget: the first had nothing to do. That holds for writes as it does for reads, since nothing
   * was carried out. Only when there is no other the 404 is the answer.
   * @param denying the server that does not have it, if it is among the candidates.
   */
  async function askAnother<Answer>(
    request: AdmittedRequest,
    candidates: readonly RoutingServer[],
    denying: RoutingServer | undefined,
    denial: NotServedAnswer,
    send: (outbound: OutboundRequest) => Promise<Answer>,
  ): Promise<Answer | Response> {
    logger.debug({ target: request.inbound.target }, 'A server does not serve what the snapshot says of it');
    const others = candidates.filter((candidate) => candidate !== denying);
    const second = chooseUsable(others);
    const destination = second && peerDestination(second);
    if (destination === undefined) {
      const isKnown = others.length > 0 || options.isServedByDepartedServer?.(request) === true;
      return isKnown ? servedSetsChanging(retryAfterSeconds) : denial;
    }
    // A body that was too large to be kept has gone to the first one.
    if (!canBeSentAgain(request.inbound)) return servedSetsChanging(retryAfterSeconds);
    const answer = await attempt(request, destination, send);
    if (answer instanceof TransportError) return noAnswer(request, answer);
    if (!(answer instanceof NotServedAnswer) || !answer.isCertain) return answer;
    return others.length > 1 || options.isServedByDepartedServer?.(request) === true
      ? servedSetsChanging(retryAfterSeconds)
      : answer;
  }

  /** The one second try. @param tried that did not answer, and is not asked again. */
  async function tryAnother<Answer>(
    request: AdmittedRequest,
    candidates: readonly RoutingServer[],
    tried: RoutingServer | undefined,
    failure: TransportError,
    send: (outbound: OutboundRequest) => Promise<Answer>,
  ): Promise<Answer | Response> {
    const { inbound, requestInfo } = request;
    const second = chooseUsable(candidates, tried);
    const destination = second && peerDestination(second);
    if (
      destination === undefined ||
      !maySafelyTryAnother(inbound.method, announcesBody(inbound), failure, requestInfo.subresource) ||
      !budget.withdraw()
    ) {
      return noAnswer(request, failure);
    }
    const answer = await attempt(request, destination, send);
    if (answer instanceof NotServedAnswer) return servedSetsChanging(retryAfterSeconds);
    return answer instanceof TransportError ? noAnswer(request, answer) : answer;
  }

  function deliverToLocal<Answer>(
    request: AdmittedRequest,
    destination: Destination,
    send: (outbound: OutboundRequest) => Promise<Answer>,
  ): Promise<Answer | Response> {
    // By the decision nobody can take its place.
    if (isRestarting(destination.id)) return Promise.resolve(notReady(request));
    const settled = health?.settled(destination.id);
    if (settled !== undefined) return settled.then(() => deliverToLocal(request, destination, send));
    const othersLeft = (): boolean => mayTryAnother(inPlaceOfLocal?.(request) ?? []);
    return attempt(request, destination, send, othersLeft).then((answer) => {
      if (answer instanceof NotServedAnswer) {
        return askAnother(request, othersThanLocal?.(request) ?? [], undefined, answer, send);
      }
      if (!(answer instanceof TransportError)) return answer;
      const others = inPlaceOfLocal?.(request);
      return others === undefined
        ? noAnswer(request, answer)
        : tryAnother(request, others, undefined, answer, send);
    });
  }

  async function deliverToOne<Answer>(
    request: AdmittedRequest,
    destination: Destination,
    send: (outbound: OutboundRequest) => Promise<Answer>,
  ): Promise<Answer | Response> {
    const answer = await attempt(request, destination, send);
    return answer instanceof TransportError ? noAnswer(request, answer) : answer;
  }

  /** As `deliverToLocal` and `deliverToPeer`, with what is needed to ask another server than the first. */
  function keepingBody<Answer>(
    { inbound, decision }: AdmittedRequest,
    hasOthers: boolean,
    delivered: () => Promise<Answer | Response>,
  ): Promise<Answer | Response> {
    if (!hasOthers || isRead(inbound.method) || inbound.keepBody === undefined || !mayBeDenied(decision)) {
      return delivered();
    }
    inbound.keepBody();
    return delivered().finally(() => inbound.forgetBody?.());
  }

  return (request, send) => {
    budget.deposit();
    const { decision } = request;
    switch (decision.decision) {
      case 'local':
        return local === undefined
          ? Promise.resolve(knowledgeMissing())
          : keepingBody(request, othersThanLocal !== undefined, () => deliverToLocal(request, local, send));
      case 'peer':
        return keepingBody(request, decision.candidates.length > 1, () =>
          deliverToPeer(request, decision.candidates, send),
        );
      case 'extension': {
        const destination = extensionDestination(decision.apiService);
        return destination === undefined
          ? Promise.resolve(serviceUnavailable())
          : deliverToOne(request, destination, send);
      }
      case 'unavailable':
        return Promise.resolve(unavailable(decision.reason));
    }
  };
}

function failureOf(error: unknown): AttemptFailure {
  if (error instanceof TransportError) return error.code;
  return error instanceof IdentityTokenError ? 'IdentityTokenTooLarge' : 'InternalError';
}

/** Says nothing of the destination: counted against it, whoever likes could have it avoided. */
function isClientsDoing({ code }: TransportError): boolean {
  return code === 'ClientGone' || code === 'RequestHeaderFieldsTooLarge';
}
