import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Destination } from '../request/destination.ts';
import { hasVerifiedRerouteMark } from '../request/headers.ts';
import { type InboundRequest, isRead, queryOf } from '../request/inbound.ts';
import type { Caller } from '../request/user-info.ts';
import {
  decide,
  dependsOnVersion,
  isServedByDepartedServer,
  untilVersionSettles,
} from '../routing/decide.ts';
import type { Decision, DecisionContext } from '../routing/decision.ts';
import { goesElsewhere, isWrite, mayTip, preferredMinor } from '../routing/preferred-version.ts';
import { isKnownToOthers, mayStillServe } from '../servers/server-standing.ts';
import { confirmedWithin } from '../snapshot/routing-table/version-instants.ts';
import type { AdmittedRequest, View } from './admitted-request.ts';
import type { RouterSettings } from './options.ts';
import { type Candidates, type Choice, noCandidates } from './server-choice.ts';

export type Decider = ReturnType<typeof createDecider>;

export const gateIsOff: Decision = Object.freeze({
  decision: 'local',
  reason: 'FeatureGateDisabled',
  candidates: [] as const,
});

type DecidedRequest = Pick<AdmittedRequest, 'requestInfo' | 'decision' | 'view'>;

/** Milliseconds between two looks whether a server has been read that others may know already. */
const untilReadAgain = 100;
/** The same, whether each server has been tried, where what is known of one may be of long ago. */
const untilTried = 20;

export function createDecider(settings: RouterSettings) {
  const { routingTable, isVerifiedPeer, preferredVersion, enabled, health, steadyClock } = settings;

  let lastView: View = Object.freeze({ snapshot: undefined, known: undefined, local: undefined });
  /** @returns the same view as long as nothing has changed: nothing is made on the request path */
  const takeView = (): View => {
    const snapshot = routingTable.current();
    const known = health === undefined ? snapshot : health.view(snapshot).known;
    const local = localIn(lastView, settings.local);
    if (lastView.snapshot !== snapshot || lastView.known !== known || lastView.local !== local) {
      lastView = Object.freeze({ snapshot, known, local });
    }
    return lastView;
  };

  const contextOf = (
    { inbound, caller, view }: Pick<AdmittedRequest, 'inbound' | 'caller' | 'view'>,
    localServerIsDown: boolean,
  ): DecisionContext => ({
    preferredVersion,
    serverId: view.local?.id,
    localServerIsDown,
    now: steadyClock(),
    query: queryOf(inbound.target),
    // Upstream's peers send upgrades without a user: there the connection's own certificate is what counts.
    reroutedByVerifiedPeer: hasVerifiedRerouteMark(inbound.headers, caller, isVerifiedPeer(inbound)),
  });

  /**
   * The servers that may take the place of a local server that does not respond, or does not serve what it is expected
   * to.
   */
  const othersThanLocal = (request: AdmittedRequest): Candidates => {
    if (!enabled) return noCandidates;
    const decision = decide(request.requestInfo, request.view.known, contextOf(request, true));
    return decision.decision === 'peer' ? decision : noCandidates;
  };

  /** Milliseconds that a request has to wait; 0 for nearly every one. */
  const untilSettled = ({ requestInfo, decision, view }: DecidedRequest): number => {
    // The first router of a rerouted request has waited already. To wait here would carry the request past the change,
    // to a server of the version before.
    if (!enabled || decision.reason === 'AlreadyRerouted') return 0;
    if (health?.areToBeTried() && requestInfo.isResourceRequest) return untilTried;
    // A router that has just been started does not know what others go by.
    if (requestInfo.isResourceRequest && routingTable.isAwaited?.() === true) return untilReadAgain;
    const { known: table, snapshot } = view;
    // Nearly always: no look at the clock, then.
    if (table?.comparison === undefined && (health === undefined || health.notKnown().size === 0)) return 0;
    const now = steadyClock();
    const wait = untilVersionSettles(requestInfo, table, { now, preferredVersion });
    if (wait > 0 || table === undefined || snapshot === undefined || health === undefined) return wait;
    const notKnown = health.notKnown();
    if (notKnown.size === 0) return 0;
    // Another router may prefer the version of servers that this one has not read yet: of several that were upgraded while it
    // was down no one alone is the majority.
    const knownToOthers = new Set([...notKnown.keys()].filter((id) => health.is(id, isKnownToOthers)));
    const mayChange = knownToOthers.size > 0 && mayTip(snapshot, knownToOthers, preferredVersion, now);
    return mayChange && dependsOnVersion(requestInfo, table, { now, preferredVersion }) ? untilReadAgain : 0;
  };

  /**
   * True if a write depends on the version, or may by now, and the last word that servers are as they are known is too old: a
   * router that is late by so much must not go by it, for others may have changed.
   * A read waits only after a time without any server: what it lacks is removed by the write that follows.
   * @param asked ID of the server that is to be sent the request, once it is chosen: nobody else's word is enough for that one
   * @param isConnected true if the request has waited for the connection on which it is to be sent now
   */
  const isUnconfirmed = (
    { requestInfo, decision, view }: DecidedRequest,
    asked = decision.decision === 'local' ? view.local?.id : undefined,
    isConnected = false,
  ): boolean => {
    if (!enabled || decision.reason === 'AlreadyRerouted' || !requestInfo.isResourceRequest) return false;
    if (!isWrite(requestInfo)) {
      const untold = routingTable.untold?.();
      if (untold === undefined || (untold === 'isolated' && !isConnected)) return false;
    }
    const table = view.known;
    if (table === undefined) return false;
    const now = steadyClock();
    if (table.comparison === undefined) {
      if (table.servers.length < 2) return false;
      const unconfirmed = routingTable.unconfirmed?.(confirmedWithin);
      if (unconfirmed === undefined) return false;
      const { silent, mayDiffer } = unconfirmed;
      if (asked !== undefined && silent.has(asked)) return true;
      return mayDiffer.size > 0 && mayTip(table, mayDiffer, preferredVersion, now);
    }
    if (routingTable.confirmedAt === undefined) return false;
    const age = settings.monotonicClock() - (routingTable.confirmedAt() ?? Number.NEGATIVE_INFINITY);
    const isSilent =
      asked !== undefined && routingTable.unconfirmed?.(confirmedWithin)?.silent.has(asked) === true;
    if (age <= confirmedWithin && !isSilent) return false;
    return dependsOnVersion(requestInfo, table, { now, preferredVersion });
  };

  return {
    isUnconfirmed,
    view: takeView,
    /** Takes the view of a request, and decides by it. */
    decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): AdmittedRequest {
      const view = takeView();
      const decision = enabled
        ? decide(
            requestInfo,
            view.known,
            contextOf({ inbound, caller, view }, isLocalServerDown(view, settings)),
          )
        : gateIsOff;
      if (inbound.record !== undefined) inbound.record.decision = decision;
      return { inbound, requestInfo, caller, view, decision };
    },
    untilVersionSettles: untilSettled,
    isMisplaced(requestInfo: RequestInfo, before: Decision, { id, kind }: Destination): boolean {
      // A request that a peer has rerouted stays here, at any version.
      if (!enabled || before.reason === 'AlreadyRerouted') return false;
      const view = takeView();
      const table = view.known;
      const wait = untilSettled({ requestInfo, decision: before, view });
      // A request that waits is decided by the versions that count once it goes on. The clock is read after that: not too early.
      const now = steadyClock();
      const at = now + wait;
      const preferred = table && preferredMinor(table, preferredVersion, at);
      const isOfAnotherVersion =
        table?.comparison !== undefined &&
        dependsOnVersion(requestInfo, table, { now: at, preferredVersion }) &&
        table.server(id)?.minor !== preferred;
      // The watch's client goes on at the coming version, once that responds: the server of that version may not even
      // be ready yet.
      if (isOfAnotherVersion && untilVersionSettles(requestInfo, table, { now, preferredVersion }) > 0)
        return true;
      const then = decide(requestInfo, table, {
        preferredVersion,
        serverId: view.local?.id,
        localServerIsDown: isLocalServerDown(view, settings),
        now: at,
        reroutedByVerifiedPeer: false,
      });
      return goesElsewhere(before, then, id, kind === 'local', isOfAnotherVersion);
    },
    othersThanLocal,
    /** True if another version is to respond than when the request was decided, or is in a moment. */
    isOutdated(request: AdmittedRequest): boolean {
      const { requestInfo, decision, view } = request;
      if (decision.decision !== 'peer' || decision.versions === undefined) return false;
      const now = decide(requestInfo, view.known, contextOf(request, true));
      const preferred = now.decision === 'peer' ? now.versions?.preferred : undefined;
      return preferred !== decision.versions.preferred || untilSettled(request) > 0;
    },
    isServedByDepartedServer: ({ requestInfo, view }: AdmittedRequest): boolean =>
      isServedByDepartedServer(requestInfo, view.known),
    /**
     * True if other routers may still send to a server of the preferred version, or have something carried out there,
     * when a write would go to another version: a field that the server of the preferred version stores meanwhile would
     * be lost.
     */
    comesTooSoon(
      { inbound, requestInfo, view: { snapshot: table } }: AdmittedRequest,
      { versions }: Candidates,
      { otherVersion }: Pick<Choice, 'otherVersion'>,
    ): boolean {
      if (otherVersion === undefined || versions === undefined || isRead(inbound.method)) return false;
      const { apiGroup, apiVersion, resource } = requestInfo;
      const servers = (table?.resource(apiGroup, apiVersion, resource) ?? table)?.servers ?? [];
      return servers.some(
        ({ id, minor }) => minor === versions.preferred && health?.is(id, mayStillServe) === true,
      );
    },
  };
}

export function isLocalServerDown(
  { local }: Pick<View, 'local'>,
  { load, health }: Pick<RouterSettings, 'load' | 'health'>,
): boolean {
  const serverId = local?.id;
  return (
    serverId !== undefined &&
    (load.isAvoided(serverId) || (health?.mayBeAsked(serverId) ?? 'first') !== 'first')
  );
}

/** @returns the local server as plain data: a snapshot may come to name it otherwise, and its authority may change */
function localIn({ local: last }: View, current: Destination | undefined): Destination | undefined {
  const isSame = last?.id === current?.id && last?.trust === current?.trust;
  return isSame ? last : current && Object.freeze({ ...current });
}
