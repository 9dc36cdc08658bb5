import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { type AllowedCallers, authorizeOwnPaths } from '../identity/authorize.ts';
import { routerStatus } from '../observe/router-status.ts';
import type { SnapshotReceiver } from '../snapshot/receiver.ts';
import { getSnapshot, putRenewal, putSnapshot } from '../snapshot/snapshot-endpoint.ts';
import { explainRequest } from './explain.ts';
import type { HandlerEnvironment } from './handler-environment.ts';
import type { MixedVersionProxyOptions } from './options.ts';

/** Everything under it is the router's own and never reaches an API server. */
export const ownPathsPrefix = '/.mixed-version-proxy';

export interface OwnPathsOptions extends MixedVersionProxyOptions {
  readonly routingTable: SnapshotReceiver;
}

/**
 * The router's own paths, for allowed callers only:
 * `v1/snapshot` (GET, PUT), `v1/snapshot/renewal` (PUT), `v1/explain?method=&url=` (GET), `v1/status` (GET).
 */
export function ownPaths(options: OwnPathsOptions, allowed: AllowedCallers): Hono<HandlerEnvironment> {
  const receiver = options.routingTable;
  const clock = options.clock ?? Date.now;
  const app = new Hono<HandlerEnvironment>();

  app.use(onlyFor(allowed));
  app.get('/v1/snapshot', ({ var: { inbound } }) =>
    getSnapshot(firstHeader(inbound.headers, 'accept'), receiver),
  );
  app.put('/v1/snapshot', ({ var: { inbound } }) => putSnapshot(inbound.body(), receiver));
  app.put('/v1/snapshot/renewal', ({ var: { inbound } }) => putRenewal(inbound.body(), receiver));
  app.get('/v1/status', () => Response.json(routerStatus(options, receiver, clock())));
  app.get('/v1/explain', (context) => {
    const { method = 'GET', url } = context.req.query();
    if (url === undefined) {
      return statusResponse('BadRequest', 'name the request to explain: ?method=GET&url=/apis/batch/v1/jobs');
    }
    return Response.json(
      explainRequest({ method, url }, receiver.current(), {
        serverId: options.serverId,
        now: clock(),
        stalePolicy: options.stalePolicy ?? 'local',
        extensionRouting: options.extensionRouting ?? 'local',
        fromVerifiedPeer: false,
      }),
    );
  });
  app.all('*', ({ req }) => statusResponse('NotFound', `the router has no ${req.method} ${req.path}`));
  return app;
}

/** 401 for callers that this router did not authenticate itself, 403 for others that are not allowed. */
function onlyFor(allowed: AllowedCallers) {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const { caller } = context.var;
    const authorization = authorizeOwnPaths(caller, allowed);
    if (authorization === 'unauthenticated') return statusResponse('Unauthorized', 'Unauthorized');
    if (authorization === 'forbidden' && caller.kind === 'authenticated') {
      const { method, path } = context.req;
      // Worded as kube-apiserver does for paths that are no resources (apimachinery pkg/api/errors NewForbidden).
      return statusResponse(
        'Forbidden',
        `forbidden: User ${JSON.stringify(caller.user.name)} cannot ${method.toLowerCase()} path ${JSON.stringify(path)}`,
      );
    }
    return next();
  });
}
