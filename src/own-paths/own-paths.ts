import { Hono, type MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { type Explanation, explainHere, type RequestToExplain } from '../proxy/explain.ts';
import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import { withAuditId } from '../request/audit-id.ts';
import type { GetInboundRequest, HandlerEnvironment, Router } from '../request/router.ts';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  formatAdvertisedServer,
} from '../snapshot/addresses/advertised-address.ts';
import type { SnapshotReceiver } from '../snapshot/receiving/receiver.ts';
import { getSnapshot, putRenewal, putSnapshot } from '../snapshot/receiving/snapshot-endpoint.ts';
import type { Authorize } from './delegated-authorizer.ts';
import { type HealthCheck, reportHealth } from './health-checks/health.ts';
import type { RouterHistory } from './history/router-history.ts';
import { onlyAuthorizedCallers, onlyAuthorizedOrUnknownCallers } from './only-authorized-callers.ts';
import { refuseDisguisedOwnPath } from './refuse-own-path.ts';
import { type RouterStatus, type RouterStatusOptions, routerStatus } from './status/router-status.ts';

/** What the status page shows of what `v1/status` and `v1/explain` tell. */
export interface StatusPageParts {
  readonly status: () => RouterStatus;
  readonly explain: (request: RequestToExplain) => Explanation;
}

export interface OwnPathsOptions extends MixedVersionProxyOptions, Omit<RouterStatusOptions, 'routingTable'> {
  /** Takes pushed snapshots; its table is the one that is routed by. */
  readonly routingTable: SnapshotReceiver;
  /** What `v1/history` and the status page tell of the last hour; one of `observers` as well. Default: nothing. */
  readonly history?: Pick<RouterHistory, 'view'> | undefined;
  /** Where peers should call this router: told to the sync job, which brings it to the others. Default: it says nothing. */
  readonly advertised?: AdvertisedSource | undefined;
}

interface OwnPathsParts {
  readonly authorize: Authorize;
  /** What `/readyz` asks. */
  readonly readinessChecks: readonly HealthCheck[];
  /** Serves the status page, and leaves other paths to the next handler. */
  readonly statusPage: (parts: StatusPageParts) => MiddlewareHandler<HandlerEnvironment>;
}

/**
 * The router's own paths (metrics stand beside them), for callers whom an API server authorizes: `v1/snapshot` (GET, PUT),
 * `v1/snapshot/renewal` (PUT), `v1/explain?method=&url=` (GET), `v1/status` (GET), `v1/history` (GET), and the status page
 * (GET), `/` and what its script asks for.
 */
export function ownPaths(
  options: OwnPathsOptions,
  { authorize, readinessChecks, statusPage }: OwnPathsParts,
): Hono<HandlerEnvironment> {
  const receiver = options.routingTable;
  const clock = options.clock ?? Date.now;
  const status = () => routerStatus(options, readiness(readinessChecks), clock());
  const explain = (request: RequestToExplain) => explainHere(request, receiver.current(), options);
  const app = new Hono<HandlerEnvironment>();

  const tellAddress = tellAdvertisedAddress(options.advertised);
  // Before all other handlers, which the guard behind them stands before.
  const signed = onlyAuthorizedOrUnknownCallers(authorize);
  app.put('/v1/snapshot', signed, tellAddress, ({ var: { inbound } }) =>
    putSnapshot(inbound.body(), receiver),
  );
  app.put('/v1/snapshot/renewal', signed, tellAddress, ({ var: { inbound } }) =>
    putRenewal(inbound.body(), receiver),
  );
  app.use(onlyAuthorizedCallers(authorize));
  app.use('/v1/snapshot', tellAddress);
  app.get('/v1/snapshot', ({ var: { inbound } }) =>
    getSnapshot(firstHeader(inbound.headers, 'accept'), receiver),
  );
  app.get('/v1/status', () => Response.json(status()));
  app.get('/v1/history', () => {
    const view = options.history?.view();
    return view === undefined
      ? statusResponse('NotFound', 'this runtime keeps no history: a process of its own does')
      : Response.json(view);
  });
  app.get('/v1/explain', (context) => {
    const { method = 'GET', url } = context.req.query();
    if (url === undefined) {
      return statusResponse('BadRequest', 'name the request to explain: ?method=GET&url=/apis/batch/v1/jobs');
    }
    return Response.json(explain({ method, url }));
  });
  app.get('*', statusPage({ status, explain }));
  app.all('*', ({ req }) => statusResponse('NotFound', `the router has no ${req.method} ${req.path}`));
  return app;
}

function readiness(checks: readonly HealthCheck[]): RouterStatus['readiness'] {
  const { healthy, failures } = reportHealth('readyz', checks, { verbose: true, exclude: [] });
  return { ready: healthy, failures };
}

/**
 * Stands before each handler of the router's own: the request as it was received, its path accepted (400) and
 * spelled in one way only, and its response named and recorded.
 */
export function acceptOwnRequest(
  router: Pick<Router, 'accept'>,
  getInbound: GetInboundRequest,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const inbound = getInbound(context);
    const requestInfo = router.accept(inbound);
    const refusal =
      'response' in requestInfo ? requestInfo.response : refuseDisguisedOwnPath({ inbound, requestInfo });
    if (refusal === undefined && !('response' in requestInfo)) {
      context.set('inbound', inbound);
      context.set('requestInfo', requestInfo);
      await next();
    }
    const response = refusal ?? context.res;
    withAuditId(response, inbound);
    inbound.record?.responded(response.status);
    return response;
  });
}

/** Establishes who calls, once (401). */
export function identifyCaller(router: Pick<Router, 'identify'>): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const caller = await router.identify(context.var.inbound);
    if (caller.kind === 'response') return caller.response;
    context.set('caller', caller);
    return next();
  });
}

/** Where peers should call this router; `undefined` while it has nothing to say. */
type AdvertisedSource = () => AdvertisedServer | undefined;

/**
 * Tells the sync job with each response to it, on refusals too: a router that cannot use what it is sent still knows
 * where it is.
 */
function tellAdvertisedAddress(advertised: AdvertisedSource = () => undefined) {
  return createMiddleware(async (context, next) => {
    await next();
    const server = advertised();
    if (server !== undefined) context.header(advertisedAddressHeader, formatAdvertisedServer(server));
  });
}
