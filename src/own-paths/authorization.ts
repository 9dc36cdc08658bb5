import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import * as v from 'valibot';
import { firstHeader, headerLines } from '../apimachinery/raw-headers.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { retryAfterSeconds, statusResponse } from '../apimachinery/status.ts';
import type { AdmittedRequest } from '../proxy/admitted-request.ts';
import { type AskOptions, askInCallersName, questionOf } from '../proxy/ask-in-callers-name.ts';
import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import type { HandlerEnvironment } from '../request/inbound.ts';
import { websocketProtocolHeader } from '../request/websocket-bearer.ts';
import { type Decision, localDecision } from '../routing/decision.ts';
import { BoundedMap } from '../runtime/bounded-map.ts';
import { sha256Digest } from '../runtime/bytes.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { SharedFlights } from '../runtime/shared-flights.ts';
import { monotonicNow, withDeadline } from '../runtime/time.ts';
import { fromJson } from '../runtime/validation.ts';
import type { ServerBook } from '../servers/server-book.ts';

/** 401 for credentials that a server does not accept, 403 for callers who may not do what they ask, 503 where no server says. */
export function onlyAuthorizedCallers(authorize: Authorize): MiddlewareHandler<HandlerEnvironment> {
  return guard(authorize, new Set(['allowed']));
}

/**
 * For what is signed: where no server can be asked the signature alone decides. A gateway that has had no snapshot yet knows
 * of no server.
 */
export function onlyAuthorizedOrUnknownCallers(authorize: Authorize): MiddlewareHandler<HandlerEnvironment> {
  return guard(authorize, new Set(['allowed', 'untold', 'unknown']));
}

function guard(
  authorize: Authorize,
  letsThrough: ReadonlySet<Verdict>,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async ({ var: request }, next) => {
    const verdict = await authorize(request);
    return letsThrough.has(verdict) ? next() : refusal(verdict, request);
  });
}

function refusal(verdict: Verdict, request: OwnPathRequest): Response {
  if (verdict === 'unauthenticated') return statusResponse('Unauthorized', 'Unauthorized');
  if (verdict === 'untold') {
    return statusResponse(
      'Unauthorized',
      'Unauthorized: this router has no front-proxy certificate to ask an API server with whether you may use this path: send a bearer token, and no client certificate',
    );
  }
  if (verdict === 'unknown') {
    return statusResponse(
      'ServiceUnavailable',
      'no API server says now whether you may use this path, please try again',
      { retryAfterSeconds },
    );
  }
  const { path, verb } = request.requestInfo;
  // Worded as kube-apiserver does for paths that are no resources (apimachinery pkg/api/errors NewForbidden).
  return statusResponse(
    'Forbidden',
    `forbidden: ${named(request)} cannot ${verb} path ${JSON.stringify(path)}`,
  );
}

function named({ caller, inbound }: OwnPathRequest): string {
  if (caller.kind === 'authenticated') return `User ${JSON.stringify(caller.user.name)}`;
  const hasCredentials = firstHeader(inbound.headers, 'authorization') !== undefined;
  return hasCredentials ? 'the user of this token' : 'User "system:anonymous"';
}

/**
 * Verdict on what a caller asks to do. `unauthenticated`: a server does not accept their credentials; `untold`: this
 * router has no way to tell servers who they are; `unknown`: no server has said it.
 */
export type Verdict = 'allowed' | 'denied' | 'unauthenticated' | 'untold' | 'unknown';

type OwnPathRequest = Pick<AdmittedRequest, 'inbound' | 'requestInfo' | 'caller'>;

/** Never rejects. */
export type Authorize = (request: OwnPathRequest) => Promise<Verdict>;

interface DelegatedAuthorizerOptions
  extends AskOptions,
    Pick<MixedVersionProxyOptions, 'local' | 'routingTable' | 'monotonicClock'> {
  readonly health?: ServerBook | undefined;
  readonly logger?: Logger | undefined;
}

/** Kubernetes' own super-users, who need no RBAC rule (k8s.io/apiserver pkg/server/options/authorization.go). */
const privilegedGroup = 'system:masters';
/**
 * Milliseconds for which a server's word counts, as in a component that delegates authorization to kube-apiserver
 * (AllowCacheTTL and DenyCacheTTL, k8s.io/apiserver pkg/server/options/authorization.go).
 */
const rememberedFor = 10_000;
/** Number of remembered verdicts, by caller, path and verb; the oldest one is forgotten first. */
const maximumRemembered = 1_024;
/** Milliseconds for one server; then the next one is asked. */
const timeout = 3_000;
const maximumServers = 3;
/** Bytes of a response; a review has some 500, and repeats what it was asked. */
const maximumBytes = 64 * 1024;

const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const reviewRequestInfo = parseRequestInfo('POST', reviews);
const toLocal = localDecision('NotAResourceRequest');

/**
 * Authorizes callers of the router's own paths by Kubernetes' RBAC: `system:masters` at once, everybody else by a
 * SelfSubjectAccessReview for path and verb, asked in the caller's own name by the way of the caller's own requests. The router
 * needs no rights of its own, and whatever credentials a server accepts count here too, impersonation included.
 */
export function createDelegatedAuthorizer(options: DelegatedAuthorizerOptions): Authorize {
  const { monotonicClock = monotonicNow, logger = silentLogger } = options;
  const remembered = new BoundedMap<string, { readonly verdict: Verdict; readonly until: number }>(
    maximumRemembered,
  );
  const asking = new SharedFlights<Verdict>();

  async function askServers(request: OwnPathRequest): Promise<Verdict> {
    for (const decision of serversToAsk(options)) {
      const { signal } = request.inbound;
      const late = () => new Error('no response in time');
      const verdict = await withDeadline(timeout, signal, late, (deadline) =>
        askOne(request, decision, deadline, options),
      ).catch((error: unknown): Verdict => {
        logger.debug({ err: error }, 'A server did not say whether a caller may use an own path');
        return 'unknown';
      });
      if (verdict !== 'unknown' || signal.aborted) return verdict;
    }
    return 'unknown';
  }

  return async (request) => {
    const { caller } = request;
    const isPrivileged = caller.kind === 'authenticated' && caller.user.groups.includes(privilegedGroup);
    // Servers say whom a caller may impersonate, and what that user may do.
    if (isPrivileged && !asksForImpersonation(request)) return 'allowed';
    const key = await keyOf(request);
    const known = remembered.get(key);
    if (known !== undefined && monotonicClock() < known.until) return known.verdict;
    return asking
      .once(key, async () => {
        const verdict = await askServers(request);
        // Nobody says anything of a client that has left: others who wait for the same ask again.
        request.inbound.signal.throwIfAborted();
        if (verdict === 'allowed' || verdict === 'denied') {
          remembered.set(key, { verdict, until: monotonicClock() + rememberedFor });
        }
        return verdict;
      })
      .catch(() => 'unknown');
  };
}

/** The local server first; of the others the healthy ones. */
function serversToAsk(options: DelegatedAuthorizerOptions): readonly Decision[] {
  const { local, routingTable, health } = options;
  const table = routingTable.current();
  const localId = options.local?.id;
  const others = (table?.snapshot.servers ?? []).flatMap(({ id }): Decision[] => {
    const server = id === localId ? undefined : table?.server(id);
    if (server?.origin === undefined) return [];
    return [{ decision: 'peer', reason: 'NotAResourceRequest', candidates: [server] }];
  });
  const isUnhealthy = ({ candidates: [server] }: Decision) =>
    server !== undefined && health?.isDown(server.id) === true;
  const ordered = [...others.filter((other) => !isUnhealthy(other)), ...others.filter(isUnhealthy)];
  return [...(local === undefined ? [] : [toLocal]), ...ordered].slice(0, maximumServers);
}

async function askOne(
  { inbound, requestInfo, caller }: OwnPathRequest,
  decision: Decision,
  signal: AbortSignal,
  options: AskOptions,
): Promise<Verdict> {
  const { path, verb } = requestInfo;
  const body = JSON.stringify({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { nonResourceAttributes: { path, verb } },
  });
  const question = questionOf(inbound, { target: reviews, accept: 'application/json', body, signal });
  const response = await askInCallersName(
    { inbound: question, requestInfo: reviewRequestInfo, caller, decision },
    maximumBytes,
    options,
  );
  // The router's own word where it cannot tell servers who calls (`refuseAuthenticated`).
  if (!response.isServers) return response.status === 401 ? 'untold' : 'unknown';
  if (response.status === 401) return 'unauthenticated';
  // Callers who may not even ask, as anonymous ones by default (ClusterRole system:basic-user), may nothing here.
  if (response.status === 403) return 'denied';
  return response.status === 201 || response.status === 200 ? verdictIn(response.text) : 'unknown';
}

const reviewed = fromJson(v.object({ status: v.object({ allowed: v.boolean() }) }));

function verdictIn(text: string | undefined): Verdict {
  const review = v.safeParse(reviewed, text);
  if (!review.success) return 'unknown';
  return review.output.status.allowed ? 'allowed' : 'denied';
}

/** By the prefix alone: an API server of tomorrow may know more such headers than those of today. */
function isImpersonation(name: string): boolean {
  return /^impersonate/i.test(name);
}

function asksForImpersonation({ inbound }: OwnPathRequest): boolean {
  for (const [name] of headerLines(inbound.headers)) if (isImpersonation(name)) return true;
  return false;
}

/** Everything that a server's word depends on, hashed: no credential is kept. */
function keyOf({ inbound, requestInfo, caller }: OwnPathRequest): Promise<string> {
  const isOwn = caller.kind === 'authenticated';
  const credentials: string[] = [];
  for (const [name, value] of headerLines(inbound.headers)) {
    const lowerCaseName = name.toLowerCase();
    // The credentials of a caller who is established here do not travel.
    const isCredential =
      !isOwn && (lowerCaseName === 'authorization' || lowerCaseName === websocketProtocolHeader);
    if (isCredential || isImpersonation(lowerCaseName)) credentials.push(lowerCaseName, value);
  }
  const user = isOwn ? { ...caller.user, extra: [...caller.user.extra] } : null;
  const { path, verb } = requestInfo;
  return sha256Digest(new TextEncoder().encode(JSON.stringify([user, credentials, path, verb])));
}
