import type { Destination } from '../../request/destination.ts';
import { canBeSentAgain } from '../../request/inbound.ts';
import { type Outcome, ownResponse, type Refusal } from '../../request/outcome.ts';
import { isRead, maySafelyTryAnother, type RetryBudget } from '../../request/retry.ts';
import type { AdmittedRequest, Router, Send } from '../../request/router.ts';
import type { TransportError } from '../../request/transport-error.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
import { type AttemptOptions, createAttempt } from './attempt.ts';
import { extensionDestination } from './destinations.ts';
import { servedSetsChanging } from './not-served.ts';
import {
  type Candidates,
  type Choice,
  everyCandidate,
  ServerChoice,
  type ServerState,
} from './server-choice.ts';
import { toldToPeer } from './unavailable-server.ts';
import {
  addressUnknown,
  knowledgeMissing,
  noResponse,
  preferredVersionUnavailable,
  retryAfterSeconds,
  serverNotReady,
  serviceUnavailable,
  unavailable,
} from './undelivered.ts';

export interface DeliveryOptions extends AttemptOptions {
  /** Left out in the gateway form, in which nothing is decided to be local. */
  readonly local?: Destination | undefined;
  /** Who may take the place of a local server that does not respond. */
  readonly inPlaceOfLocal: (request: AdmittedRequest) => Candidates;
  /** Who else serves a resource that the local server is expected to serve, and does not. */
  readonly othersThanLocal: (request: AdmittedRequest) => Candidates;
  /** Whether a server that has left for a while is known to serve what is asked for. */
  readonly isServedByDepartedServer: (request: AdmittedRequest) => boolean;
  readonly budget: RetryBudget;
  readonly random: () => number;
}

/** The last part of every request's way: choose, stamp, send; one second try where that is safe. */
export function createDelivery(options: DeliveryOptions): Router['deliver'] {
  const { local, load, health, budget, random, logger } = options;
  const { inPlaceOfLocal, othersThanLocal, isServedByDepartedServer } = options;
  const state: ServerState = {
    inFlight: (id) => load.inFlight(id),
    isAvoided: (id) => load.isAvoided(id) || health?.isAvoided(id) === true,
    weight: (id) => health?.weight(id) ?? 1,
  };

  const attempt = createAttempt(options);
  const isRestarting = (id: string): boolean => health?.isRestarting(id) === true;
  const choice = new ServerChoice({ state, random, isRestarting, local });

  /** Asked when a server has been silent for long. */
  function mayTryAnother(candidates: Candidates, tried?: RoutingServer): boolean {
    return budget.left >= 1 && choice.choose(candidates, tried) !== undefined;
  }

  /** Told with the response, wherever it comes from in the end. */
  function noteVersion({ inbound }: AdmittedRequest, { otherVersion }: Choice): void {
    if (otherVersion === inbound.otherVersion) return;
    inbound.otherVersion = otherVersion;
    if (otherVersion !== undefined) inbound.observed?.otherVersionAsked(otherVersion.isOlder);
  }

  function notReady(request: AdmittedRequest): Outcome {
    request.inbound.observed?.dropped('ServerNotReady');
    return ownResponse(toldToPeer(request, serverNotReady()));
  }

  function deliverToPeer(request: AdmittedRequest, candidates: Candidates, send: Send): Promise<Outcome> {
    const chosen = choice.choose(candidates);
    const settled = chosen && health?.settled(chosen.server.id);
    if (settled !== undefined) return settled.then(() => deliverToPeer(request, candidates, send));
    if (chosen === undefined && choice.isHeldBack(candidates)) {
      request.inbound.observed?.dropped('PreferredVersionUnavailable');
      return Promise.resolve(ownResponse(preferredVersionUnavailable()));
    }
    if (chosen === undefined && candidates.candidates.length > 0) return Promise.resolve(notReady(request));
    if (chosen?.destination === undefined) return Promise.resolve(ownResponse(addressUnknown()));
    const { server, destination } = chosen;
    noteVersion(request, chosen);
    const othersLeft = (): boolean => mayTryAnother(candidates, server);
    return attempt(request, destination, send, othersLeft).then((result) => {
      if (result.kind === 'refusal') {
        return askAnotherAfterRefusal(request, candidates, server, result, send);
      }
      return result.kind === 'no response'
        ? retryAfterNoResponse(request, candidates, server, result.error, send)
        : result;
    });
  }

  /**
   * A server does not have what the snapshot says it serves, ends, or is down behind its router. Another one that should
   * have it is asked, without a withdrawal from the budget: the first had nothing to do. That holds for writes as it does
   * for reads, since nothing was carried out. Only when there is no other the refusal is the response.
   * @param refusing the server that refused, if it is among the candidates.
   */
  async function askAnotherAfterRefusal(
    request: AdmittedRequest,
    candidates: Candidates,
    refusing: RoutingServer | undefined,
    refusal: Refusal,
    send: Send,
  ): Promise<Outcome> {
    const isUnavailable = refusal.reason === 'Unavailable';
    const text = isUnavailable ? 'A server is unavailable' : 'A server lacks what the snapshot has';
    logger.debug({ target: request.inbound.target }, text);
    const others = everyCandidate(candidates).filter((candidate) => candidate !== refusing);
    const second = choice.choose(candidates, refusing);
    const destination = second?.destination;
    if (second === undefined || destination === undefined) {
      const isKnown = !isUnavailable && (others.length > 0 || isServedByDepartedServer(request));
      return ownResponse(isKnown ? servedSetsChanging(retryAfterSeconds) : refusal.response);
    }
    // A body that was too large to be kept has gone to the first one.
    if (!canBeSentAgain(request.inbound)) {
      return ownResponse(isUnavailable ? refusal.response : servedSetsChanging(retryAfterSeconds));
    }
    noteVersion(request, second);
    const result = await attempt(request, destination, send);
    if (result.kind === 'no response') return ownResponse(noResponse(request, result.error));
    if (result.kind !== 'refusal') return result;
    const mayBeServed =
      result.reason === 'NotServed' &&
      result.isCertain &&
      (isUnavailable || others.length > 1 || isServedByDepartedServer(request));
    return ownResponse(mayBeServed ? servedSetsChanging(retryAfterSeconds) : result.response);
  }

  /**
   * A server did not respond. Another one is tried, once, where that is safe and the budget has a retry left.
   * @param tried the server that did not respond; it is not asked again.
   */
  async function retryAfterNoResponse(
    request: AdmittedRequest,
    candidates: Candidates,
    tried: RoutingServer | undefined,
    failure: TransportError,
    send: Send,
  ): Promise<Outcome> {
    const second = choice.choose(candidates, tried);
    const destination = second?.destination;
    if (
      second === undefined ||
      destination === undefined ||
      !maySafelyTryAnother(request, failure) ||
      !canBeSentAgain(request.inbound) ||
      !budget.withdraw()
    ) {
      const response = noResponse(request, failure);
      return ownResponse(failure.mayHaveBeenProcessed ? response : toldToPeer(request, response));
    }
    noteVersion(request, second);
    const result = await attempt(request, destination, send);
    if (result.kind === 'no response') return ownResponse(noResponse(request, result.error));
    if (result.kind !== 'refusal') return result;
    return ownResponse(
      result.reason === 'NotServed' ? servedSetsChanging(retryAfterSeconds) : result.response,
    );
  }

  function deliverToLocal(request: AdmittedRequest, destination: Destination, send: Send): Promise<Outcome> {
    // By the decision no server can take its place.
    if (isRestarting(destination.id)) return Promise.resolve(notReady(request));
    const settled = health?.settled(destination.id);
    if (settled !== undefined) return settled.then(() => deliverToLocal(request, destination, send));
    const othersLeft = (): boolean => mayTryAnother(inPlaceOfLocal(request));
    return attempt(request, destination, send, othersLeft).then((result) => {
      if (result.kind === 'refusal') {
        return askAnotherAfterRefusal(request, othersThanLocal(request), undefined, result, send);
      }
      return result.kind === 'no response'
        ? retryAfterNoResponse(request, inPlaceOfLocal(request), undefined, result.error, send)
        : result;
    });
  }

  async function deliverToOne(
    request: AdmittedRequest,
    destination: Destination,
    send: Send,
  ): Promise<Outcome> {
    const result = await attempt(request, destination, send);
    if (result.kind === 'no response') return ownResponse(noResponse(request, result.error));
    return result.kind === 'refusal' ? ownResponse(result.response) : result;
  }

  return (request, send) => {
    const { inbound } = request;
    // No promise more for what has no body.
    if (isRead(inbound.method) || inbound.keepBody === undefined) return deliver(request, send);
    // Until a response begins, a server may say that it did not process the request.
    inbound.keepBody();
    return deliver(request, send).finally(() => inbound.forgetBody?.());
  };

  function deliver(request: AdmittedRequest, send: Send): Promise<Outcome> {
    budget.deposit();
    const { decision } = request;
    switch (decision.decision) {
      case 'local':
        return local === undefined
          ? Promise.resolve(ownResponse(knowledgeMissing()))
          : deliverToLocal(request, local, send);
      case 'peer':
        return deliverToPeer(request, decision, send);
      case 'extension': {
        const destination = extensionDestination(decision.apiService);
        return destination === undefined
          ? Promise.resolve(ownResponse(serviceUnavailable()))
          : deliverToOne(request, destination, send);
      }
      case 'unavailable':
        if (decision.reason === 'PreferredVersion') {
          request.inbound.observed?.dropped('PreferredVersionUnavailable');
        }
        return Promise.resolve(ownResponse(unavailable(decision.reason)));
    }
  }
}
