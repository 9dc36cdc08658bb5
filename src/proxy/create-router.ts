import { isLongRunning } from '../apimachinery/long-running.ts';
import { rememberingRequests } from '../apimachinery/remembered-requests.ts';
import { type RequestInfo, RequestInfoError } from '../apimachinery/request-info.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { authenticate } from '../identity/authenticate.ts';
import { AuthenticationError } from '../identity/authenticator.ts';
import { auditIdOf } from '../request/audit-id.ts';
import type { Destination } from '../request/destination.ts';
import { hasVerifiedRerouteMark } from '../request/header-hygiene.ts';
import { defaultIdentityHeaderNames } from '../request/identity-header-names.ts';
import { type InboundRequest, queryOf } from '../request/inbound.ts';
import { observeRequest } from '../request/request-observer.ts';
import { RetryBudget } from '../request/retry.ts';
import type { AdmittedRequest, Router } from '../request/router.ts';
import type { Caller } from '../request/user-info.ts';
import { hasPassedThrough, newPseudonym } from '../request/via.ts';
import { decide, isServedByDepartedServer } from '../routing/decide.ts';
import {
  type Decision,
  type DecisionContext,
  defaultStalePolicy,
  type StalePolicy,
} from '../routing/decision.ts';
import { defaultPreferredVersion, goesElsewhere } from '../routing/preferred-version.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { isExpired, type RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { createDelivery } from './delivery/delivery.ts';
import { type Candidates, ServerLoad } from './delivery/server-choice.ts';
import type { MixedVersionProxyOptions } from './options.ts';

const gateIsOff: Decision = Object.freeze({
  decision: 'local',
  reason: 'FeatureGateDisabled',
  candidates: [] as const,
});

/**
 * Builds the router from what the runtime injects.
 * @throws {TypeError} when the options mix the sidecar form with the gateway form.
 */
export function createRouter(options: MixedVersionProxyOptions): Router {
  checkForm(options);
  const {
    serverId,
    routingTable,
    authenticators = [],
    isVerifiedPeer = () => false,
    pseudonym = newPseudonym(),
    identityHeaderNames = defaultIdentityHeaderNames,
    identityTokens = {},
    stalePolicy = defaultStalePolicy,
    preferredVersion = defaultPreferredVersion,
    localServerDownPolicy = 'peer',
    health,
    extensionRouting = 'local',
    enabled = true,
    clock = Date.now,
    monotonicClock = () => performance.now(),
    random = Math.random,
    logger = silentLogger,
    observers = [],
    load = new ServerLoad(monotonicClock),
    retryBudget = new RetryBudget(),
    gate,
  } = options;
  const standing = { serverId, stalePolicy, preferredVersion };
  const deliver = createDelivery({
    local: options.local,
    identityHeaderNames,
    identityTokens,
    pseudonym,
    isMisplaced,
    load,
    health,
    inPlaceOfLocal: localServerDownPolicy === 'peer' ? inPlaceOfLocal : undefined,
    othersThanLocal: inPlaceOfLocal,
    isServedByDepartedServer: ({ requestInfo }) =>
      isServedByDepartedServer(requestInfo, routingTable.current()),
    budget: retryBudget,
    random,
    logger,
    monotonicClock,
  });

  /** The same request, decided anew. A request that a peer has rerouted stays here, at any version. */
  function isMisplaced(requestInfo: RequestInfo, before: Decision, { id, kind }: Destination): boolean {
    if (!enabled || before.reason === 'AlreadyRerouted') return false;
    const now = decide(requestInfo, routingTable.current(), {
      ...standing,
      localServerIsDown: isLocalServerDown(),
      now: clock(),
      reroutedByVerifiedPeer: false,
      extensionRouting,
    });
    return goesElsewhere(before, now, id, kind === 'local');
  }

  const expiryLog = createExpiryLog(stalePolicy, logger);
  const readRequest = rememberingRequests();

  const accept = (inbound: InboundRequest): RequestInfo | Response => {
    if (observers.length > 0) inbound.observed = observeRequest(observers, inbound);
    if (hasPassedThrough(inbound.headers, pseudonym)) return loopDetected();
    try {
      const requestInfo = readRequest(inbound.method, inbound.target);
      inbound.observed?.accepted(requestInfo);
      if (!isLongRunning(requestInfo)) inbound.limitDuration?.();
      return requestInfo;
    } catch (error) {
      if (error instanceof RequestInfoError) return refuseTarget(error);
      throw error;
    }
  };

  const identify = (inbound: InboundRequest): Caller | Response | Promise<Caller | Response> => {
    try {
      const caller = authenticate(inbound, authenticators);
      if (caller instanceof Promise) {
        return caller.then(
          (known) => identified(inbound, known),
          (error: unknown) => refuseCaller(inbound, error),
        );
      }
      return identified(inbound, caller);
    } catch (error) {
      return refuseCaller(inbound, error);
    }
  };

  const identified = (inbound: InboundRequest, caller: Caller): Caller => {
    inbound.observed?.identified(caller);
    return caller;
  };

  const refuseCaller = (inbound: InboundRequest, error: unknown): Response => {
    if (!(error instanceof AuthenticationError)) throw error;
    // The authenticator has logged why it could not judge them. 401 would make clients give up.
    if (error.isTemporary) {
      return statusResponse('ServiceUnavailable', error.message, { retryAfterSeconds: 1 });
    }
    logger.info(
      {
        error: error.message,
        remoteAddress: inbound.connection.remoteAddress,
        'audit-ID': auditIdOf(inbound),
      },
      'Unauthorized',
    );
    // The message names the class of error for the operator; kubectl shows it. It never holds what helps an attacker
    // (contents of credentials, keys, addresses).
    return statusResponse('Unauthorized', `Unauthorized: ${error.message}`);
  };

  // Upstream's peers send upgrades without a user: there the connection's own certificate is what counts.
  const isRerouted = (inbound: InboundRequest, caller: Caller): boolean =>
    hasVerifiedRerouteMark(inbound.headers, caller, isVerifiedPeer(inbound));

  const decideFor = (inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision => {
    const decision = decisionFor(inbound, requestInfo, caller);
    inbound.observed?.decided(decision);
    return decision;
  };

  const decisionFor = (inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision => {
    if (!enabled) return gateIsOff;
    const context = contextOf(inbound, caller, isLocalServerDown());
    const table = routingTable.current();
    expiryLog.look(table, context.now);
    return decide(requestInfo, table, context);
  };

  const contextOf = (
    inbound: InboundRequest,
    caller: Caller,
    localServerIsDown: boolean,
  ): DecisionContext => ({
    ...standing,
    localServerIsDown,
    now: clock(),
    query: queryOf(inbound.target),
    reroutedByVerifiedPeer: isRerouted(inbound, caller),
    // An extension server is told who calls, never given credentials that it could use elsewhere: callers
    // whom the router did not authenticate go through the local aggregator, which authenticates them.
    extensionRouting: caller.kind === 'authenticated' ? extensionRouting : 'local',
  });

  const isLocalServerDown = (): boolean =>
    localServerDownPolicy === 'peer' &&
    serverId !== undefined &&
    (load.isAvoided(serverId) || health?.isAvoided(serverId) === true);

  /** Decided anew, now that the local server is known not to respond. */
  function inPlaceOfLocal(request: AdmittedRequest): Candidates | undefined {
    const { inbound, requestInfo, caller } = request;
    if (!enabled) return undefined;
    const decision = decide(requestInfo, routingTable.current(), contextOf(inbound, caller, true));
    return decision.decision === 'peer' ? decision : undefined;
  }

  return {
    accept,
    identify,
    decide: decideFor,
    deliver:
      gate === undefined ? deliver : (request, send) => gate.pass(request, () => deliver(request, send)),
  };
}

function checkForm({ serverId, local, stalePolicy, enabled }: MixedVersionProxyOptions): void {
  if ((serverId === undefined) !== (local === undefined)) {
    throw new TypeError('Give both serverId and local, or neither of them for the gateway form.');
  }
  if (serverId !== undefined) return;
  if (stalePolicy === 'local' || enabled === false) {
    throw new TypeError(
      'A gateway has no local server: stalePolicy "local" and enabled false need serverId and local.',
    );
  }
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

/**
 * Logs once when the snapshot in use has expired, and once when a valid one has arrived.
 * Requests trigger the check, so that it needs no timer of the runtime.
 */
export function createExpiryLog(
  stalePolicy: StalePolicy,
  logger: Logger,
): { look(table: RoutingTable | undefined, now: number): void } {
  let wasExpired = false;
  return {
    look(table, now) {
      const expired = isExpired(table, now);
      if (expired === wasExpired || table === undefined) return;
      wasExpired = expired;
      const { generation } = table;
      const expiresAt = new Date(table.expiresAt).toISOString();
      if (!expired) logger.info({ generation, expiresAt }, 'The snapshot in use is in force again');
      else logger.warn({ generation, expiresAt, stalePolicy }, expiredText[stalePolicy]);
    },
  };
}

const expiredText = {
  'serve-stale':
    'The snapshot is past its lifetime: requests are still routed by it, and changes of the API servers are missed. See to the sync job',
  local:
    'The snapshot is past its lifetime: the local server gets what is not known to be for peers only, which gets 503. See to the sync job',
  unavailable: 'The snapshot is past its lifetime: requests for resources get 503. See to the sync job',
} as const satisfies Record<StalePolicy, string>;
