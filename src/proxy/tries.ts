import { firstHeader } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { retryAfterSeconds, statusResponse } from '../apimachinery/status.ts';
import { streamingSubresources } from '../apimachinery/subresources.ts';
import type { TransportError } from '../request/destination.ts';
import { type Again, announcesBody, type InboundRequest, isRead } from '../request/inbound.ts';
import { ownResponse, type Refusal, type ResponseToSend } from '../request/transport.ts';
import { isServedByDepartedServer } from '../routing/decide.ts';
import { mayBeStarting } from '../servers/server-standing.ts';
import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { ServerAsking, ServerToAsk } from './ask-server.ts';
import { comesTooSoon, isUnconfirmed } from './hold-back.ts';
import { isServedBySnapshot, reasonOf, toldToPeer } from './judge-response.ts';
import type { RouterSettings } from './options.ts';
import type { Failed } from './other-servers.ts';
import { type Candidates, loadKindOf } from './server-choice.ts';
import { unavailable } from './unavailable.ts';

/** The parts of `ServerAsking` that `Tries` needs. */
type Asking = Pick<ServerAsking, 'settings' | 'decider' | 'choice' | 'servedNowhere' | 'othersOf'>;

/** The one place that answers "again, and where": what is left to try for one request, after a first server has failed it. */
export class Tries {
  readonly #asking: Asking;
  /** With a view of after the failure, which tells of that server, too. */
  request: AdmittedRequest;
  readonly #candidates: Candidates;
  readonly #rule: OthersToAsk;
  readonly #first: RoutingServer | undefined;
  readonly #firstFailed: Failed;
  readonly #asked: Set<RoutingServer>;
  /** Servers that say that they do not serve it. */
  readonly #denying: Set<RoutingServer>;
  #last: Failed;
  #left: number;

  /** @param first the server that was asked, if it is among the candidates */
  constructor(asking: Asking, request: AdmittedRequest, first: RoutingServer | undefined, failed: Failed) {
    this.#asking = asking;
    this.request = { ...request, view: asking.decider.view() };
    this.#candidates = asking.othersOf(this.request);
    this.#rule = othersToAsk(request, failed);
    this.#first = first;
    this.#firstFailed = failed;
    this.#last = failed;
    this.#left = this.#rule.atMost;
    const firsts = first === undefined ? [] : [first];
    this.#asked = new Set(firsts);
    this.#denying = new Set(isNotServed(failed) ? firsts : []);
    const { apiGroup, resource } = request.requestInfo;
    asking.settings.logger.debug({ apiGroup, resource, others: this.#left }, 'A server failed a request');
  }

  /**
   * Waits for a server of which one probe has to say whether it is still there. The answer goes into the request's record.
   * @returns the server to ask next, which counts as asked from now on; else the response for the client
   */
  async next(): Promise<ServerToAsk | ResponseToSend> {
    const { health } = this.#asking.settings;
    const isFirstTime = this.#left === this.#rule.atMost;
    // A server that was lost a moment ago may be back, and serve what another one denies.
    if (isFirstTime && isNotServed(this.#last) && !isServedBySnapshot(this.request.decision)) {
      await health?.allSettled(this.request.inbound);
    }
    this.#lookAgain();
    let answer = this.#choose();
    const known =
      typeof answer === 'string' ? undefined : health?.settled(answer.destination.id, this.request.inbound);
    if (known !== undefined) {
      await known;
      this.#lookAgain();
      // The server may be another process than when the request was decided: then the client asks again.
      if (typeof answer !== 'string' && this.#isOutdated(answer)) answer = 'too soon';
    }
    const { record } = this.request.inbound;
    const word = typeof answer === 'string' ? answer : 'again';
    if (record !== undefined) record.again = word;
    return typeof answer === 'string' ? ownResponse(this.#response()) : answer;
  }

  #lookAgain(): void {
    this.request = { ...this.request, view: this.#asking.decider.view() };
  }

  #choose(): ServerToAsk | Exclude<Again, 'again'> {
    const { settings, decider, choice } = this.#asking;
    const { inbound, requestInfo } = this.request;
    const { atMost, onlyHealthy, isFromBudget } = this.#rule;
    if (this.#left === 0) return atMost === 0 ? 'not repeatable' : 'enough';
    const { server, destination, otherVersion } =
      choice.choose(this.#candidates, loadKindOf(requestInfo), this.#asked) ?? {};
    if (server === undefined || destination === undefined) return 'nobody left';
    if (onlyHealthy && choice.mayBeAsked(server) !== 'first') return 'nobody left';
    // A body that was too large to be kept has gone to the first one.
    if (!canBeSentAgain(inbound)) return 'body gone';
    if (comesTooSoon(this.request, settings, this.#candidates, { otherVersion, server })) return 'too soon';
    // Substitutes of the local server were chosen just now; candidates of the decision before the first of them was waited for.
    if (this.#first !== undefined && decider.isOutdated(this.request)) return 'too soon';
    if (isUnconfirmed(this.request, settings, destination.id)) return 'too soon';
    if (isFromBudget && !settings.retryBudget.withdraw()) return 'budget spent';
    this.#left -= 1;
    this.#asked.add(server);
    return { kind: 'server', server, destination, otherVersion };
  }

  /** @returns whether the request does not belong any more to the server that it has waited for */
  #isOutdated({ server }: ServerToAsk): boolean {
    const { decider, choice } = this.#asking;
    const isGone = server !== undefined && choice.mayBeAsked(server) === 'not';
    return isGone || decider.isOutdated(this.request);
  }

  failed(server: RoutingServer | undefined, result: Failed): void {
    if (server !== undefined && isNotServed(result)) this.#denying.add(server);
    // A server that is down says nothing about what the first one denied.
    const isOver = result.kind === 'no response' && !maySafelyTryAnother(this.request, result.error);
    if (this.#rule.atMost === 1 || isOver) this.#last = result;
    if (isOver) this.#left = 0;
  }

  /** @returns the response for the client when nobody else is asked */
  #response(): Response {
    const { settings, servedNowhere } = this.#asking;
    const { inbound, decision } = this.request;
    const last = this.#last;
    const isServed = isServedBySnapshot(decision);
    if (isServed || !isNotServed(last))
      return givenUp(this.request, last, isServed && this.#isServedElsewhere());
    if (mayBeServedByUnknown(settings, this.request)) {
      inbound.record?.turnedAway('ServerNotReady');
      return unavailable('ServerNotKnown');
    }
    const others = this.#first === undefined ? 0 : 1;
    if (isNotServed(this.#firstFailed) && this.#denying.size > others) servedNowhere.add(this.request);
    return last.response;
  }

  #isServedElsewhere(): boolean {
    return (
      (this.#first === undefined && !isNotServed(this.#firstFailed)) ||
      everyCandidate(this.#candidates).some((candidate) => !this.#denying.has(candidate)) ||
      isServedByDepartedServer(this.request.requestInfo, this.request.view.known)
    );
  }
}

/** True if nobody is known to serve the resource, and a server may have been started with it a moment ago. */
function mayBeServedByUnknown({ health }: RouterSettings, { decision, view }: AdmittedRequest): boolean {
  if (reasonOf(decision) !== 'NotServedByAnyServer') return false;
  const servers = view.snapshot?.servers ?? [];
  return servers.some(({ id }) => health?.is(id, mayBeStarting) === true);
}

interface OthersToAsk {
  readonly atMost: number;
  /** Each is withdrawn from the budget of second tries: a struggling cluster must not get double load. */
  readonly isFromBudget: boolean;
  /** A server that is down has no word in it. */
  readonly onlyHealthy: boolean;
}

const nobody: OthersToAsk = { atMost: 0, isFromBudget: false, onlyHealthy: false };
/** The first server had nothing to do: nothing was carried out, of a write neither. */
const anotherOne: OthersToAsk = { atMost: 1, isFromBudget: false, onlyHealthy: false };
const anotherFromBudget: OthersToAsk = { atMost: 1, isFromBudget: true, onlyHealthy: false };
const someHealthyOnes: OthersToAsk = { atMost: 3, isFromBudget: false, onlyHealthy: true };

/**
 * The rule by the failure, by whether the request was processed, and by method and body. In each case the body must be
 * there to be sent again (`canBeSentAgain`).
 *
 * - The server ends, or is down behind its router: another one, writes too.
 * - The server does not serve what the snapshot says it serves: another one, writes too.
 * - The server does not serve what is the same for all servers (a custom resource, an aggregated API, what nobody is
 *   known to serve): up to three others. The server may have been started just now, or another one may know a new
 *   definition before it.
 * - The server did not respond, and provably did not process the request: another one, writes too, within the budget.
 * - The server did not respond, and may have processed the request: another one for a read without a body, within the
 *   budget. A write is never sent twice (RFC 9110 section 9.2.2).
 */
export function othersToAsk(request: AdmittedRequest, failed: Failed): OthersToAsk {
  if (failed.kind === 'no response') {
    return maySafelyTryAnother(request, failed.error) ? anotherFromBudget : nobody;
  }
  if (failed.reason === 'Unavailable' || isServedBySnapshot(request.decision)) return anotherOne;
  return someHealthyOnes;
}

interface RepeatableRequest {
  readonly inbound: Pick<InboundRequest, 'method' | 'headers'>;
  readonly requestInfo: Pick<RequestInfo, 'subresource'>;
}

export function maySafelyTryAnother(request: RepeatableRequest, error: TransportError): boolean {
  // A head that is too large for one server may end the connections of the next, too.
  if (error.code === 'ClientGone' || error.code === 'RequestHeaderFieldsTooLarge') return false;
  if (!error.mayHaveBeenProcessed) return true;
  const { inbound } = request;
  return isRead(inbound.method) && !announcesBody(inbound) && !mayRunCommand(request);
}

/** Over WebSockets they are asked for with GET. Behind the subresource `proxy` of a node is its kubelet, with an exec of its own. */
function mayRunCommand({ inbound, requestInfo: { subresource } }: RepeatableRequest): boolean {
  if (streamingSubresources.has(subresource)) return true;
  return subresource === 'proxy' && firstHeader(inbound.headers, 'upgrade') !== undefined;
}

/**
 * Never names an address. Retry-After only where asking again is safe: client-go repeats every request that gets 5xx and
 * Retry-After, writes included (k8s.io/client-go rest/with_retry.go).
 */
function noResponse(request: AdmittedRequest, error: TransportError): Response {
  if (error.code === 'RequestHeaderFieldsTooLarge') {
    return statusResponse(
      error.code,
      'the header of this request is larger than the API server that serves this resource takes, please send less of it',
    );
  }
  // RFC 9110 section 15.6.3: there was a response, and it cannot be used.
  const isInvalid = error.code === 'InvalidResponse';
  const message = isInvalid
    ? 'the API server that serves this resource gave a response that is not valid HTTP, or larger than a router takes; the request may have been carried out'
    : error.mayHaveBeenProcessed
      ? 'the API server that serves this resource did not respond; the request may have been carried out'
      : 'the API server that serves this resource could not be reached, or did not process the request; the request was not carried out';
  const isSafe = maySafelyTryAnother(request, error);
  return statusResponse(isInvalid ? 'BadGateway' : 'ServiceUnavailable', message, {
    ...(isSafe ? { retryAfterSeconds } : {}),
    causes: [
      {
        reason: error.code,
        message: isInvalid ? 'an invalid response of the destination' : 'no response from the destination',
      },
    ],
  });
}

/** True if the whole request can go to another destination, although one has been given it. */
function canBeSentAgain(inbound: InboundRequest): boolean {
  return inbound.rewindBody === undefined ? inbound.body() === null : inbound.rewindBody();
}

function everyCandidate({ candidates, versions }: Candidates): readonly RoutingServer[] {
  if (versions === undefined || versions.others.length === 0) return candidates;
  return [...candidates, ...versions.others.flatMap(({ reachable }) => reachable)];
}

function isNotServed(failed: Failed): failed is Refusal {
  return failed.kind === 'refusal' && failed.reason === 'NotServed';
}

function givenUp(request: AdmittedRequest, last: Failed, isServedElsewhere: boolean): Response {
  if (last.kind === 'refusal') {
    const isChanging = isNotServed(last) && isServedElsewhere;
    return isChanging ? unavailable('ServedSetsChanging') : last.response;
  }
  const response = noResponse(request, last.error);
  return last.error.mayHaveBeenProcessed ? response : toldToPeer(request, response);
}
