import { statusResponse } from '../apimachinery/status.ts';
import { type Destination, foundNoConnection, NotSentError, TransportError } from '../request/destination.ts';
import { auditIdOf } from '../request/headers.ts';
import type { OtherVersion } from '../request/inbound.ts';
import type { AdmittedRequest, Router, Send } from './admitted-request.ts';
import { type Outcome, ownResponse, type ResponseToSend, type SendResult } from '../request/transport.ts';
import type { DecisionReason } from '../routing/decision.ts';
import { FailureLog } from '../runtime/logger.ts';
import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import type { Decider } from './decider.ts';
import { isEverybodys, isServedBySnapshot, toldToPeer } from './judge-response.ts';
import type { RouterSettings } from './options.ts';
import { type Failed, type NoResponse, ServedNowhere } from './other-servers.ts';
import { buildOutboundRequest, type OutboundHints } from './outbound.ts';
import { type Candidates, loadKindOf, noCandidates, ServerChoice } from './server-choice.ts';
import { unavailable } from './unavailable.ts';

/** What the local server gets whatever it serves: it only has to be ready. */
const anyServerResponds: ReadonlySet<string> = new Set<DecisionReason>([
  'AlreadyRerouted',
  'NotAResourceRequest',
  'MergedDocument',
  'FeatureGateDisabled',
]);

/**
 * The last part of every request's way: choose a server, stamp, send; ask others where `othersToAsk` says so.
 * @param decidedAnew a request that has waited: what its decision went by may have changed
 */
export function createDelivery(
  settings: RouterSettings,
  decider: Decider,
  decidedAnew: (request: AdmittedRequest) => Promise<AdmittedRequest>,
): Router['deliver'] {
  const { local, load, health, retryBudget: budget, routingTable, logger } = settings;
  const failures = new FailureLog({ logger, clock: settings.monotonicClock });
  const servedNowhere = new ServedNowhere(settings.monotonicClock, () => routingTable.current()?.snapshot);
  const choice = new ServerChoice(settings);
  const outbound = { ...settings, isMisplaced: decider.isMisplaced };
  /** No candidate, though it may be one of the snapshot's servers: others are asked in its place, whoever it is. */
  const theLocalServer = { destination: local, server: undefined, otherVersion: undefined };

  /** Who may be asked in place of the server that was chosen. */
  function othersOf(request: AdmittedRequest): Candidates {
    return request.decision.decision === 'peer' ? request.decision : decider.othersThanLocal(request);
  }

  function othersMayServe(request: AdmittedRequest): boolean {
    if (isServedBySnapshot(request.decision)) return true;
    const others = routingTable.current()?.reachable.length ?? 0;
    if (others <= 1 || !isEverybodys(request)) return false;
    return !servedNowhere.has(request.requestInfo) || health?.allSettled() !== undefined;
  }

  function notReady(
    request: AdmittedRequest,
    reason: 'ServerNotReady' | 'VersionNotConfirmed' = 'ServerNotReady',
  ): Promise<Outcome> {
    request.inbound.record?.turnedAway(reason);
    return Promise.resolve(ownResponse(toldToPeer(request, unavailable(reason))));
  }

  function deliver(request: AdmittedRequest, send: Send): Promise<Outcome> {
    const { decision, inbound } = request;
    if (decision.decision === 'unavailable') {
      if (decision.reason === 'ServerNotKnown') inbound.record?.turnedAway('ServerNotReady');
      return Promise.resolve(ownResponse(unavailable(decision.reason)));
    }
    const isLocal = decision.decision === 'local';
    const candidates = isLocal ? noCandidates : decision;
    const chosen = isLocal ? theLocalServer : choice.choose(candidates, loadKindOf(request.requestInfo));
    if (chosen === undefined && candidates.candidates.length > 0) return notReady(request);
    if (chosen?.destination === undefined) {
      return Promise.resolve(ownResponse(unavailable(isLocal ? 'NoSnapshot' : 'PeerAddressUnknown')));
    }
    const { destination, server, otherVersion } = chosen;
    if (isLocal) {
      // By the decision no server can take its place.
      const missing = health?.whyNot(destination.id);
      const isDecidedByServed = missing !== 'served-set' || !anyServerResponds.has(decision.reason);
      if (missing !== undefined && isDecidedByServed) return notReady(request);
    }
    const settled = health?.settled(destination.id);
    // A server that is back may be another one.
    if (settled !== undefined)
      return settled.then(() => decidedAnew(request)).then((later) => deliver(later, send));
    if (decider.comesTooSoon(request, candidates, chosen)) return notReady(request);
    if (decider.isUnconfirmed(request)) return notReady(request, 'VersionNotConfirmed');
    const hints = {
      othersLeft: () => {
        const asked = new Set(server === undefined ? [] : [server]);
        return budget.left >= 1 && choice.choose(othersOf(request), 'short', asked) !== undefined;
      },
      othersMayServe: othersMayServe(request),
    };
    return attempt(request, destination, otherVersion, send, hints, (failed) =>
      askOthers(request, server, failed, send),
    );
  }

  /**
   * In a module of its own: a Worker loads it with the first request that a server has failed (decisions/0008).
   * @param first the server that was asked, if it is among the candidates
   */
  async function askOthers(
    request: AdmittedRequest,
    first: RoutingServer | undefined,
    failed: Failed,
    send: Send,
  ): Promise<Outcome> {
    const others = await import('./tries.ts');
    const asking = { settings, decider, choice, servedNowhere, othersMayServe, attempt };
    return others.askOthers(asking, request, othersOf(request), first, failed, send);
  }

  /**
   * @param otherVersion the destination's, where it is not the preferred one
   * @param otherwise what becomes of a request that the destination refused, or did not respond to
   * @returns what `send` gave; a response of the router's own where the caller does not fit into the assertion
   */
  function attempt<Result = Outcome>(
    request: AdmittedRequest,
    destination: Destination,
    otherVersion: OtherVersion | undefined,
    send: Send,
    hints: OutboundHints,
    otherwise: (failed: Failed) => Result | Promise<Result>,
  ): Promise<Outcome | Result> {
    const { inbound } = request;
    const { id } = destination;
    // A document of an older server lacks kinds, but nobody writes by it.
    if (otherVersion !== inbound.otherVersion && request.requestInfo.isResourceRequest) {
      inbound.otherVersion = otherVersion;
    }
    const sentTo = load.begin(id, loadKindOf(request.requestInfo));
    inbound.record?.attemptBegun(destination);
    const responded = (result: SendResult): Outcome | Result | Promise<Result> => {
      load.reached(id);
      sentTo.responded(result.kind === 'sent' ? result.status : result.response.status);
      if (result.kind !== 'refusal') {
        const whenWhole = inbound.onWhole ?? inbound.onFinished;
        if (whenWhole === undefined) sentTo.end();
        else whenWhole.call(inbound, () => sentTo.end());
        return result;
      }
      // The server that has refused has no part in what another one makes of it, which may take hours.
      sentTo.end();
      // It ends, or is down behind its router, and accepts connections all the while: nothing else makes it be looked at
      // before the next probe is due.
      if (result.reason === 'Unavailable') health?.notResponded(id);
      return otherwise(result);
    };
    const failed = (error: unknown): Outcome | Result | Promise<Result> => {
      sentTo.end();
      const result = failedAttempt(request, destination, error);
      return result.kind === 'no response' ? otherwise(result) : result;
    };
    try {
      const built = buildOutboundRequest(request, destination, outbound, hints);
      const sending = built instanceof Promise ? built.then(send) : send(built);
      return sending.then(responded, failed);
    } catch (error) {
      return Promise.reject(error).catch(failed);
    }
  }

  function failedAttempt(
    { inbound, requestInfo }: AdmittedRequest,
    destination: Destination,
    error: unknown,
  ): ResponseToSend | NoResponse {
    const { record } = inbound;
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
    if (!isClients) {
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
    else failures.warn(`${kind} ${id}: ${code}`, all, text);
    return { kind: 'no response', error };
  }

  return deliver;
}
