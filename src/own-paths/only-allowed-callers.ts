import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { HandlerEnvironment } from '../request/router.ts';
import { type AllowedCallers, authorizeOwnPaths } from './allowed-callers.ts';

/**
 * Guards what the router tells about itself: 401 for callers that it did not authenticate, 403 for
 * others that are not allowed, and for every request that asks for impersonation.
 */
export function onlyAllowedCallers(allowed: AllowedCallers): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const { caller, inbound } = context.var;
    const authorization = authorizeOwnPaths(caller, allowed);
    if (authorization === 'unauthenticated' || caller.kind !== 'authenticated') {
      return statusResponse('Unauthorized', 'Unauthorized');
    }
    const { method, path } = context.req;
    // Worded as kube-apiserver does for paths that are no resources (apimachinery pkg/api/errors NewForbidden).
    const forbidden = `forbidden: User ${JSON.stringify(caller.user.name)} cannot ${method.toLowerCase()} path ${JSON.stringify(path)}`;
    if (authorization === 'forbidden') return statusResponse('Forbidden', forbidden);
    // Only an API server knows which users a caller may impersonate. To respond as if the headers were not there would
    // give the caller's own rights to somebody who is to be held to another's.
    if (asksForImpersonation(inbound.headers)) {
      return statusResponse(
        'Forbidden',
        `${forbidden}: impersonation is not supported here, send the request without Impersonate- headers`,
      );
    }
    return next();
  });
}

/** Kubernetes' group for monitoring of components (ClusterRole `system:monitoring`; KEP-4827, KEP-4828). */
const monitoringGroup = 'system:monitoring';

/**
 * Guards metrics: as `onlyAllowedCallers`, and monitors may read them.
 * @param allowed `everyone` at the admin address, which does not authenticate callers
 */
export function onlyMonitors(allowed: AllowedCallers | 'everyone'): MiddlewareHandler<HandlerEnvironment> {
  if (allowed === 'everyone') return openToEveryone;
  return onlyAllowedCallers({ users: allowed.users, groups: [...allowed.groups, monitoringGroup] });
}

const openToEveryone: MiddlewareHandler<HandlerEnvironment> = (_context, next) => next();

/** By the prefix alone: an API server of tomorrow may know more such headers than those of today. */
function asksForImpersonation(headers: RawHeaders): boolean {
  for (const [name] of headerLines(headers)) {
    if (/^impersonate/i.test(name)) return true;
  }
  return false;
}
