import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { HandlerEnvironment } from '../request/router.ts';
import type { Authorize, OwnPathRequest, Verdict } from './delegated-authorizer.ts';

/**
 * Guards what the router tells about itself: 401 for credentials that a server does not accept, 403 for callers who may
 * not do what they ask, and 503 where no server says.
 */
export function onlyAuthorizedCallers(authorize: Authorize): MiddlewareHandler<HandlerEnvironment> {
  return guard(authorize, new Set(['allowed']));
}

/**
 * As `onlyAuthorizedCallers`, for what is signed: where no server can be asked the signature alone decides. A gateway
 * that has had no snapshot yet knows of no server, and one that is pushed is how it comes to know them.
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

/** Seconds; soon enough for a server that restarts. */
const retryAfterSeconds = 1;

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

/** Whose token it is the server does not tell. */
function named({ caller, inbound }: OwnPathRequest): string {
  if (caller.kind === 'authenticated') return `User ${JSON.stringify(caller.user.name)}`;
  const hasCredentials = firstHeader(inbound.headers, 'authorization') !== undefined;
  return hasCredentials ? 'the user of this token' : 'User "system:anonymous"';
}
