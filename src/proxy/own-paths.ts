import { Hono } from 'hono';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { AllowedCallers } from '../identity/authorize.ts';
import type { CredentialFiles } from '../observe/credential-files.ts';
import { routerStatus } from '../observe/router-status.ts';
import type { SnapshotReceiver } from '../snapshot/receiver.ts';
import { getSnapshot, putRenewal, putSnapshot } from '../snapshot/snapshot-endpoint.ts';
import { defaultStalePolicy } from './decision.ts';
import { explainRequest } from './explain.ts';
import type { HandlerEnvironment } from './handler-environment.ts';
import { onlyAllowedCallers } from './only-allowed-callers.ts';
import type { MixedVersionProxyOptions } from './options.ts';

export interface OwnPathsOptions extends MixedVersionProxyOptions {
  readonly routingTable: SnapshotReceiver;
  /** What the runtime has to say about certificates and key files, where it reads any. */
  readonly credentialFiles?: CredentialFiles;
}

/**
 * The router's own paths, for allowed callers only:
 * `v1/snapshot` (GET, PUT), `v1/snapshot/renewal` (PUT), `v1/explain?method=&url=` (GET), `v1/status` (GET).
 */
export function ownPaths(options: OwnPathsOptions, allowed: AllowedCallers): Hono<HandlerEnvironment> {
  const receiver = options.routingTable;
  const { serverId, localServerDownPolicy = 'peer', health } = options;
  const clock = options.clock ?? Date.now;
  const app = new Hono<HandlerEnvironment>();

  app.use(onlyAllowedCallers(allowed));
  app.get('/v1/snapshot', ({ var: { inbound } }) =>
    getSnapshot(firstHeader(inbound.headers, 'accept'), receiver),
  );
  app.put('/v1/snapshot', ({ var: { inbound } }) => putSnapshot(inbound.body(), receiver));
  app.put('/v1/snapshot/renewal', ({ var: { inbound } }) => putRenewal(inbound.body(), receiver));
  app.get('/v1/status', () =>
    Response.json(routerStatus(options, receiver, clock(), options.credentialFiles)),
  );
  app.get('/v1/explain', (context) => {
    const { method = 'GET', url } = context.req.query();
    if (url === undefined) {
      return statusResponse('BadRequest', 'name the request to explain: ?method=GET&url=/apis/batch/v1/jobs');
    }
    return Response.json(
      explainRequest({ method, url }, receiver.current(), {
        serverId,
        localServerIsDown:
          localServerDownPolicy === 'peer' &&
          serverId !== undefined &&
          health?.isUnhealthy(serverId) === true,
        now: clock(),
        stalePolicy: options.stalePolicy ?? defaultStalePolicy(serverId),
        extensionRouting: options.extensionRouting ?? 'local',
        fromVerifiedPeer: false,
        healthOf: (id) => health?.report(id)?.status,
      }),
    );
  });
  app.all('*', ({ req }) => statusResponse('NotFound', `the router has no ${req.method} ${req.path}`));
  return app;
}
