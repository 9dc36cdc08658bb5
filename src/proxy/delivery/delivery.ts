import type { Destination } from '../../request/destination.ts';
import { canBeSentAgain } from '../../request/inbound.ts';
import { type Outcome, ownResponse, type Refusal } from '../../request/outcome.ts';
import { isRead, maySafelyTryAnother, type RetryBudget } from '../../request/retry.ts';
import type { AdmittedRequest, Router, Send } from '../../request/router.ts';
import type { TransportError } from '../../request/transport-error.ts';
import type { DecisionReason } from '../../routing/decision.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { type AttemptOptions, createAttempt } from './attempt.ts';
import { DeniedEverywhere } from './denied-everywhere.ts';
import { isEverybodys, isServedBySnapshot, servedSetsChanging } from './not-served.ts';
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
  unavailable,
} from './undelivered.ts';

export interface DeliveryOptions extends AttemptOptions {
  /** Left out in the gateway form, in which nothing is decided to be local. */
  readonly local?: Destination | undefined;
  /** Who may take the place of a local server that does not respond. */
  readonly inPlaceOfLocal: (request: AdmittedRequest) => Candidates;
  /** Who else serves a resource that the local server is expected to serve, and does not. */
  readonly othersThanLocal: (request: AdmittedRequest) => Candidates;
  /** The routing table in use. */
  readonly routingTable: { current(): RoutingTable | undefined };
  /** Whether a server that has left for a while is known to serve what is asked for. */
  readonly isServedByDepartedServer: (request: AdmittedRequest) => boolean;
  readonly budget: RetryBudget;
  readonly random: () => number;
}

/** Others that are asked at most before what a server denies to have is taken not to exist. */
const maximumOthersAsked = 3;

/** What the local server gets whatever it serves: it only has to be ready. */
const anyServerResponds: ReadonlySet<string> = new Set<DecisionReason>([
  'AlreadyRerouted',
  'NotAResourceRequest',
  'MergedDocument',
  'FeatureGateDisabled',
]);

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
  const deniedEverywhere = new DeniedEverywhere(
    options.monotonicClock,
    () => options.routingTable.current()?.snapshot,
  );
  const isNotKnown = (id: string): boolean => health?.missing(id) !== undefined;
  const choice = new ServerChoice({ state, random, isNotKnown, local });

  /** Asked when a server has been silent for long. */
  function mayTryAnother(candidates: Candidates, tried?: RoutingServer): boolean {
    return budget.left >= 1 && choice.choose(candidates, tried) !== undefined;
  }

  /** Whether another server is asked where one denies to have the path. */
  function mayBeDenied(request: AdmittedRequest): boolean {
    if (isServedBySnapshot(request.decision)) return true;
    const others = options.routingTable.current()?.reachable.length ?? 0;
    return others > 1 && isEverybodys(request) && !deniedEverywhere.has(request.requestInfo);
  }

  /** Told with the response, wherever it comes from in the end. */
  function noteVersion({ inbound, requestInfo }: AdmittedRequest, { otherVersion }: Choice): void {
    // A document of an older server lacks kinds, but nobody writes by it.
    if (!requestInfo.isResourceRequest) return;
    inbound.otherVersion = otherVersion;
  }

  function notReady(request: AdmittedRequest): Outcome {
    request.inbound.record?.turnedAway('ServerNotReady');
    return ownResponse(toldToPeer(request, serverNotReady()));
  }

  function deliverToPeer(request: AdmittedRequest, candidates: Candidates, send: Send): Promise<Outcome> {
    const chosen = choice.choose(candidates);
    const settled = chosen && health?.settled(chosen.server.id);
    if (settled !== undefined) return settled.then(() => deliverToPeer(request, candidates, send));
    if (chosen === undefined && choice.isHeldBack(candidates)) {
      request.inbound.record?.turnedAway('PreferredVersionUnavailable');
      return Promise.resolve(ownResponse(preferredVersionUnavailable()));
    }
    if (chosen === undefined && candidates.candidates.length > 0) return Promise.resolve(notReady(request));
    if (chosen?.destination === undefined) return Promise.resolve(ownResponse(addressUnknown()));
    const { server, destination } = chosen;
    noteVersion(request, chosen);
    const hints = {
      othersLeft: () => mayTryAnother(candidates, server),
      mayBeDenied: mayBeDenied(request),
    };
    return attempt(request, destination, send, hints).then((result) => {
      if (result.kind === 'refusal') return afterRefusal(request, candidates, server, result, send);
      return result.kind === 'no response'
        ? retryAfterNoResponse(request, candidates, server, result.error, send)
        : result;
    });
  }

  function afterRefusal(
    request: AdmittedRequest,
    candidates: Candidates,
    refusing: RoutingServer | undefined,
    refusal: Refusal,
    send: Send,
  ): Promise<Outcome> {
    const isBySnapshot = refusal.reason === 'Unavailable' || isServedBySnapshot(request.decision);
    const ask = isBySnapshot ? askAnotherAfterRefusal : askOthersBeforeBelieving;
    return ask(request, candidates, refusing, refusal, send);
  }

  /**
   * A server denies to have what is the same for all of them: a custom resource, an aggregated API, or what nobody is known
   * to serve. It may have been started just now, or another one may know a new definition before it. So others are asked,
   * without a withdrawal from the budget: the first had nothing to do. What they deny, too, is believed, for a moment
   * without asking them again.
   */
  async function askOthersBeforeBelieving(
    request: AdmittedRequest,
    candidates: Candidates,
    refusing: RoutingServer | undefined,
    refusal: Refusal,
    send: Send,
  ): Promise<Outcome> {
    const asked = new Set(refusing === undefined ? [] : [refusing]);
    let isDenied = false;
    for (let count = 0; count < maximumOthersAsked; count++) {
      const left = candidates.candidates.filter((candidate) => !asked.has(candidate));
      const next = choice.choose({ ...candidates, candidates: left });
      // One that is down has no word in it: without others, a server's 404 is all that is known.
      if (next?.destination === undefined || asked.has(next.server) || state.isAvoided(next.server.id)) break;
      // A body that was too large to be kept has gone to the first one.
      if (!canBeSentAgain(request.inbound)) return ownResponse(refusal.response);
      asked.add(next.server);
      noteVersion(request, next);
      const result = await attempt(request, next.destination, send, { mayBeDenied: true });
      if (result.kind === 'no response') {
        const isOver = result.error.mayHaveBeenProcessed && !isRead(request.inbound.method);
        if (isOver) return ownResponse(noResponse(request, result.error));
        continue;
      }
      if (result.kind !== 'refusal') return result;
      if (result.reason === 'NotServed' && !result.isCertain) return ownResponse(result.response);
      isDenied ||= result.reason === 'NotServed';
    }
    if (isDenied) deniedEverywhere.add(request.requestInfo);
    return ownResponse(refusal.response);
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
    const result = await attempt(request, destination, send, { mayBeDenied: mayBeDenied(request) });
    if (result.kind === 'no response') return ownResponse(noResponse(request, result.error));
    if (result.kind !== 'refusal') return result;
    const mayBeServed =
      result.reason === 'NotServed' &&
      isServedBySnapshot(request.decision) &&
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
    const isServed = isServedBySnapshot(request.decision);
    const result = await attempt(request, destination, send, { mayBeDenied: isServed });
    if (result.kind === 'no response') return ownResponse(noResponse(request, result.error));
    if (result.kind !== 'refusal') return result;
    return ownResponse(
      result.reason === 'NotServed' ? servedSetsChanging(retryAfterSeconds) : result.response,
    );
  }

  function deliverToLocal(request: AdmittedRequest, destination: Destination, send: Send): Promise<Outcome> {
    // By the decision no server can take its place.
    const missing = health?.missing(destination.id);
    const isDecidedByServed = missing !== 'served-set' || !anyServerResponds.has(request.decision.reason);
    if (missing !== undefined && isDecidedByServed) return Promise.resolve(notReady(request));
    const settled = health?.settled(destination.id);
    if (settled !== undefined) return settled.then(() => deliverToLocal(request, destination, send));
    const hints = {
      othersLeft: () => mayTryAnother(inPlaceOfLocal(request)),
      mayBeDenied: mayBeDenied(request),
    };
    return attempt(request, destination, send, hints).then((result) => {
      if (result.kind === 'refusal') {
        return afterRefusal(request, othersThanLocal(request), undefined, result, send);
      }
      return result.kind === 'no response'
        ? retryAfterNoResponse(request, inPlaceOfLocal(request), undefined, result.error, send)
        : result;
    });
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
      case 'unavailable':
        if (decision.reason === 'ServerNotKnown') request.inbound.record?.turnedAway('ServerNotReady');
        if (decision.reason === 'PreferredVersion')
          request.inbound.record?.turnedAway('PreferredVersionUnavailable');
        return Promise.resolve(ownResponse(unavailable(decision.reason)));
    }
  }
}
