import { statusResponse } from '../apimachinery/status.ts';
import { type Destination, foundNoConnection, NotSentError, TransportError } from '../request/destination.ts';
import { auditIdOf } from '../request/headers.ts';
import type { OtherVersion } from '../request/inbound.ts';
import { type Outcome, ownResponse, type ResponseToSend, type SendResult } from '../request/transport.ts';
import type { DecisionReason } from '../routing/decision.ts';
import { FailureLog } from '../runtime/logger.ts';
import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import type { AdmittedRequest, Send } from './admitted-request.ts';
import type { Decider } from './decider.ts';
import { comesTooSoon, isUnconfirmed } from './hold-back.ts';
import { isEverybodys, isServedBySnapshot, toldToPeer } from './judge-response.ts';
import type { RouterSettings } from './options.ts';
import { type Failed, type NoResponse, ServedNowhere } from './other-servers.ts';
import { buildOutboundRequest, type OutboundOptions } from './outbound.ts';
import { type Candidates, loadKindOf, noCandidates, ServerChoice } from './server-choice.ts';
import { decidedAnew, settled } from './settle.ts';
import { unavailable } from './unavailable.ts';

/** Reasons for which the local server gets a request whatever it serves: the server only has to be ready. */
const anyServerResponds: ReadonlySet<string> = new Set<DecisionReason>([
  'AlreadyRerouted',
  'NotAResourceRequest',
  'MergedDocument',
  'FeatureGateDisabled',
]);

/** The server that is to be sent a request. */
export interface ServerToAsk {
  readonly kind: 'server';
  readonly destination: Destination;
  /** `undefined` for the local server, which is no candidate though it may be one of the snapshot's servers. */
  readonly server: RoutingServer | undefined;
  /** The destination's version, where it is not the preferred one. */
  readonly otherVersion: OtherVersion | undefined;
}

/** The first server to ask, and the request as it was decided when that was chosen. */
interface FirstServer extends ServerToAsk {
  readonly request: AdmittedRequest;
}

/** Asking one server: which one first, sending the request to it, and what that tells of the server. */
export class ServerAsking {
  readonly settings: RouterSettings;
  readonly decider: Decider;
  readonly choice: ServerChoice;
  readonly servedNowhere: ServedNowhere;
  readonly #outbound: OutboundOptions;
  readonly #failures: FailureLog;

  constructor(settings: RouterSettings, decider: Decider) {
    const { logger, monotonicClock } = settings;
    this.settings = settings;
    this.decider = decider;
    this.choice = new ServerChoice(settings);
    this.servedNowhere = new ServedNowhere(monotonicClock);
    this.#outbound = { ...settings, watches: decider };
    this.#failures = new FailureLog({ logger, clock: monotonicClock });
  }

  /**
   * Waits for a server of which one probe has to say whether it is still there.
   * @returns the server to ask first; the 503 where none may be asked, or the request comes too soon for it. A promise only where
   *   it has to wait
   */
  first(request: AdmittedRequest): FirstServer | ResponseToSend | Promise<FirstServer | ResponseToSend> {
    const { settings } = this;
    const candidates = request.decision.decision === 'peer' ? request.decision : noCandidates;
    const chosen = this.#choose(request, candidates);
    if (chosen.kind === 'response') return chosen;
    const known = settings.health?.settled(chosen.destination.id, request.inbound);
    if (known !== undefined) return this.#firstOnce(known, request);
    if (comesTooSoon(request, settings, candidates, chosen)) return notReady(request);
    if (isUnconfirmed(request, settings, chosen.destination.id))
      return notReady(request, 'VersionNotConfirmed');
    return { ...chosen, request };
  }

  async #firstOnce(known: Promise<void>, request: AdmittedRequest): Promise<FirstServer | ResponseToSend> {
    await known;
    // The client has left: nothing is sent for it.
    if (request.inbound.signal.aborted) return notReady(request);
    // A server that is back may be another one.
    return this.first(await settled(decidedAnew(request, this.decider), this.decider, this.settings));
  }

  #choose(request: AdmittedRequest, candidates: Candidates): ServerToAsk | ResponseToSend {
    const { decision, inbound, requestInfo } = request;
    if (decision.decision === 'unavailable') {
      if (decision.reason === 'ServerNotKnown') inbound.record?.turnedAway('ServerNotReady');
      return ownResponse(unavailable(decision.reason));
    }
    if (decision.decision === 'local') return this.#local(request);
    const chosen = this.choice.choose(candidates, loadKindOf(requestInfo));
    if (chosen === undefined && candidates.candidates.length > 0) return notReady(request);
    if (chosen?.destination === undefined) return ownResponse(unavailable('PeerAddressUnknown'));
    const { destination, server, otherVersion } = chosen;
    return { kind: 'server', destination, server, otherVersion };
  }

  #local(request: AdmittedRequest): ServerToAsk | ResponseToSend {
    const { local } = request.view;
    const { health } = this.settings;
    if (local === undefined) return ownResponse(unavailable('NoSnapshot'));
    // By the decision no server can take its place.
    const missing = health?.whyNot(local.id);
    const isDecidedByServed = missing !== 'unverified' || !anyServerResponds.has(request.decision.reason);
    if (missing !== undefined && isDecidedByServed) return notReady(request);
    return { kind: 'server', destination: local, server: undefined, otherVersion: undefined };
  }

  /** @returns who may be asked in place of the server that was chosen */
  othersOf(request: AdmittedRequest): Candidates {
    return request.decision.decision === 'peer' ? request.decision : this.decider.othersThanLocal(request);
  }

  /** @returns what tells, later, whether another server than the first could be asked */
  othersLeft({ request, server }: FirstServer): () => boolean {
    return () => {
      const asked = new Set(server === undefined ? [] : [server]);
      const now = { ...request, view: this.decider.view() };
      return (
        this.settings.retryBudget.left >= 1 &&
        this.choice.choose(this.othersOf(now), 'short', asked) !== undefined
      );
    };
  }

  /** @returns whether another server's word is wanted before a 404 is believed */
  #othersMayServe(request: AdmittedRequest): boolean {
    if (isServedBySnapshot(request.decision)) return true;
    const others = request.view.snapshot?.reachable.length ?? 0;
    if (others <= 1 || !isEverybodys(request)) return false;
    return !this.servedNowhere.has(request) || this.settings.health?.areAwaited() === true;
  }

  /**
   * Stamps the request for one server and sends it there.
   * @param othersLeft whether another server could be asked, where this one is silent for long. Default: none could
   * @returns what `send` gave, or why another server may be asked; a response of the router's own where the caller does not fit
   *   into the assertion
   */
  async ask(
    request: AdmittedRequest,
    { destination, otherVersion }: ServerToAsk,
    send: Send,
    othersLeft?: () => boolean,
  ): Promise<Outcome | Failed> {
    const { inbound, requestInfo } = request;
    // A document of an older server lacks kinds, but nobody writes by it.
    if (otherVersion !== inbound.otherVersion && requestInfo.isResourceRequest) {
      inbound.otherVersion = otherVersion;
    }
    const sentTo = this.settings.load.begin(destination.id, loadKindOf(requestInfo));
    inbound.record?.attemptBegun(destination);
    const hints = {
      othersLeft,
      othersMayServe: this.#othersMayServe(request),
      stillHolds: () => this.#stillHolds(request, destination),
    };
    let result: SendResult;
    try {
      const built = buildOutboundRequest(request, destination, this.#outbound, hints);
      result = await send(built instanceof Promise ? await built : built, request);
    } catch (error) {
      sentTo.end();
      return this.#failed(request, destination, error);
    }
    sentTo.responded(result.kind === 'sent' ? result.status : result.response.status);
    this.#responded(destination, result);
    const whenWhole = result.kind === 'refusal' ? undefined : (inbound.onWhole ?? inbound.onFinished);
    // The server that has refused has no part in what another one makes of the request, which may take hours.
    if (whenWhole === undefined) sentTo.end();
    else whenWhole.call(inbound, () => sentTo.end());
    return result;
  }

  /**
   * The checks of `first`, asked again just before the first byte. A connection may take seconds (a lost SYN is sent again after
   * 1 and 3 s, RFC 6298 section 2). Other routers may write to another version by then.
   * @returns true if the request would still be sent to this destination
   */
  #stillHolds(request: AdmittedRequest, destination: Destination): boolean {
    const { decider, settings } = this;
    const { requestInfo, decision } = request;
    if (!requestInfo.isResourceRequest) return true;
    if (settings.health?.whyNot(destination.id) !== undefined) return false;
    const now = { ...request, view: decider.view() };
    if (isUnconfirmed(now, settings, destination.id, true)) return false;
    return !decider.isMisplaced(requestInfo, decision, destination);
  }

  #responded({ id }: Destination, result: SendResult): void {
    const { load, health } = this.settings;
    load.reached(id);
    // The server ends, or is down behind its router, and accepts connections all the while: nothing else makes it be looked at
    // before the next probe is due.
    if (result.kind === 'refusal' && result.reason === 'Unavailable') health?.notResponded(id);
  }

  /** @throws errors of the router itself */
  #failed(
    { inbound, requestInfo }: AdmittedRequest,
    destination: Destination,
    error: unknown,
  ): ResponseToSend | NoResponse {
    const { record } = inbound;
    const { health, load, logger } = this.settings;
    if (error instanceof NotSentError) {
      record?.attemptEnded(error.code);
      return ownResponse(statusResponse(error.reason, error.message));
    }
    if (!(error instanceof TransportError)) {
      record?.attemptEnded('InternalError');
      throw error;
    }
    const { message, mayHaveBeenProcessed } = error;
    // The router itself has ended the request, and the client is still there: it was the destination that did not respond.
    const isTimedOut = error.code === 'ClientGone' && record?.dropped === 'RequestTimeout';
    const code = isTimedOut ? 'Timeout' : error.code;
    record?.attemptEnded(code);
    // Not evidence against the destination: if it counted, any client could make the router avoid a server.
    const isClients = code === 'ClientGone' || code === 'RequestHeaderFieldsTooLarge';
    const saysNothing = isClients || code === 'DecisionOutdated';
    if (!saysNothing) {
      // One slow request says nothing of a server: only what never reached it does. Who is probed has better to say.
      const wasNotReached = !mayHaveBeenProcessed || code === 'ConnectFailed';
      if (wasNotReached && health?.isProbed(destination.id) !== true) load.notReached(destination.id);
      // No connection counts against it; no response on one only makes it be looked at (`ServerBook`).
      if (foundNoConnection(error)) health?.connectionLost(destination.id, code === 'ConnectFailed');
      else if (requestInfo.subresource !== 'proxy') health?.notResponded(destination.id);
    }
    const { id, kind } = destination;
    const fields = { destination: id, kind, code, mayHaveBeenProcessed, error: message };
    const all = { ...fields, 'audit-ID': auditIdOf(inbound) };
    const text = 'A destination did not respond';
    // A client that leaves says nothing about the destination; in a reset flood thousands leave at once.
    if (isClients) logger.debug(all, text);
    else this.#failures.warn(`${kind} ${id}: ${code}`, all, text);
    return { kind: 'no response', error };
  }
}

/** The client asks again: no server that could respond is ready, or the request has to wait for the preferred version. */
function notReady(
  request: AdmittedRequest,
  reason: 'ServerNotReady' | 'VersionNotConfirmed' = 'ServerNotReady',
): ResponseToSend {
  request.inbound.record?.turnedAway(reason);
  return ownResponse(toldToPeer(request, unavailable(reason)));
}
