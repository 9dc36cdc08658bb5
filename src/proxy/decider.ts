import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Destination } from '../request/destination.ts';
import { hasVerifiedRerouteMark } from '../request/headers.ts';
import { type InboundRequest, queryOf } from '../request/inbound.ts';
import type { Caller } from '../request/user-info.ts';
import { decide, dependsOnVersion, untilVersionSettles } from '../routing/decide.ts';
import type { Decision, DecisionContext } from '../routing/decision.ts';
import { goesElsewhere, preferredMinor } from '../routing/preferred-version.ts';
import type { AdmittedRequest, View } from './admitted-request.ts';
import { heldBackFor } from './hold-back.ts';
import type { RouterSettings } from './options.ts';
import { type Candidates, noCandidates } from './server-choice.ts';

export const gateIsOff: Decision = Object.freeze({
  decision: 'local',
  reason: 'FeatureGateDisabled',
  candidates: [] as const,
});

/** Where a request goes by what is known now: the view of the servers, and decisions by it. */
export class Decider {
  readonly #settings: RouterSettings;
  #view: View = Object.freeze({ snapshot: undefined, known: undefined, local: undefined });

  constructor(settings: RouterSettings) {
    this.#settings = settings;
  }

  /** @returns the same view as long as nothing has changed: nothing is made on the request path */
  view(): View {
    const { routingTable, health } = this.#settings;
    const snapshot = routingTable.current();
    const known = health === undefined ? snapshot : health.view(snapshot).known;
    const local = localIn(this.#view, this.#settings.local);
    const last = this.#view;
    if (last.snapshot !== snapshot || last.known !== known || last.local !== local) {
      this.#view = Object.freeze({ snapshot, known, local });
    }
    return this.#view;
  }

  /** Takes the view of a request, and decides by it. */
  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): AdmittedRequest {
    const settings = this.#settings;
    const view = this.view();
    const decision = settings.enabled
      ? decide(
          requestInfo,
          view.known,
          this.#contextOf({ inbound, caller, view }, isLocalServerDown(view, settings)),
        )
      : gateIsOff;
    if (inbound.record !== undefined) inbound.record.decision = decision;
    return { inbound, requestInfo, caller, view, decision };
  }

  /** The servers that may take the place of a local server that does not respond, or does not serve what it is expected to. */
  othersThanLocal(request: AdmittedRequest): Candidates {
    if (!this.#settings.enabled) return noCandidates;
    const decision = decide(request.requestInfo, request.view.known, this.#contextOf(request, true));
    return decision.decision === 'peer' ? decision : noCandidates;
  }

  /** @returns true if another version is to respond than when the request was decided, or is in a moment */
  isOutdated(request: AdmittedRequest): boolean {
    const { requestInfo, decision, view } = request;
    if (decision.decision !== 'peer' || decision.versions === undefined) return false;
    const now = decide(requestInfo, view.known, this.#contextOf(request, true));
    const preferred = now.decision === 'peer' ? now.versions?.preferred : undefined;
    return preferred !== decision.versions.preferred || heldBackFor(request, this.#settings) > 0;
  }

  /**
   * @param before by which a watch was given to its server
   * @returns true if what it brings may lack what others have stored since: this process stood still while servers are of several
   *   versions, and has not asked them again yet
   */
  isOfBefore(requestInfo: RequestInfo, before: Decision): boolean {
    const { enabled, health, routingTable, steadyClock, preferredVersion } = this.#settings;
    const snapshot = routingTable.current();
    // Each event of a watch asks this. In a cluster of one version no clock is read for it.
    if (!enabled || snapshot?.comparison === undefined || before.reason === 'AlreadyRerouted') return false;
    if (health?.areToBeTried() !== true) return false;
    return dependsOnVersion(requestInfo, snapshot, { now: steadyClock(), preferredVersion });
  }

  /**
   * @param before by which the request was given to `destination`, where it may have been for hours
   * @returns true if it would be given to a server of another version now
   */
  isMisplaced(requestInfo: RequestInfo, before: Decision, { id, kind }: Destination): boolean {
    const { enabled, steadyClock, preferredVersion } = this.#settings;
    // A request that a peer has rerouted stays here, at any version.
    if (!enabled || before.reason === 'AlreadyRerouted') return false;
    const view = this.view();
    const table = view.known;
    const settling = { now: steadyClock(), preferredVersion };
    const untilSettled = untilVersionSettles(requestInfo, table, settling);
    // A request that waits is decided by the versions that count once it goes on. The clock is read after that: not too early.
    const at = steadyClock() + untilSettled;
    const preferred = table && preferredMinor(table, preferredVersion, at);
    const isOfAnotherVersion =
      table?.comparison !== undefined &&
      dependsOnVersion(requestInfo, table, { now: at, preferredVersion }) &&
      table.server(id)?.minor !== preferred;
    // The watch's client goes on at the coming version, once that responds: the server of that version may not even be ready yet.
    if (isOfAnotherVersion && untilSettled > 0) return true;
    const then = decide(requestInfo, table, {
      preferredVersion,
      serverId: view.local?.id,
      localServerIsDown: isLocalServerDown(view, this.#settings),
      now: at,
      reroutedByVerifiedPeer: false,
    });
    return goesElsewhere(before, then, id, kind === 'local', isOfAnotherVersion);
  }

  #contextOf(
    { inbound, caller, view }: Pick<AdmittedRequest, 'inbound' | 'caller' | 'view'>,
    localServerIsDown: boolean,
  ): DecisionContext {
    const { preferredVersion, steadyClock, isVerifiedPeer } = this.#settings;
    return {
      preferredVersion,
      serverId: view.local?.id,
      localServerIsDown,
      now: steadyClock(),
      query: queryOf(inbound.target),
      // Upstream's peers send upgrades without a user: there the connection's own certificate is what counts.
      reroutedByVerifiedPeer: hasVerifiedRerouteMark(inbound.headers, caller, isVerifiedPeer(inbound)),
    };
  }
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
