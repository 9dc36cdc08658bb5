import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { Hono } from 'hono/tiny';
import { firstHeader } from './apimachinery/raw-headers.ts';
import { internalError, statusResponse } from './apimachinery/status.ts';
import type { PageState } from './dashboard/page-state.ts';
import {
  type Authorize,
  createDelegatedAuthorizer,
  onlyAuthorizedCallers,
  onlyAuthorizedOrUnknownCallers,
} from './own-paths/authorization.ts';
import { type HealthCheck, healthEndpoints, reportHealth, routerHealthChecks } from './own-paths/health.ts';
import type { RouterHistory } from './own-paths/history/router-history.ts';
import { type MetricsSource, metricsEndpoints } from './own-paths/metrics-endpoints.ts';
import { type RouterStatusOptions, routerStatus } from './own-paths/status/router-status.ts';
import { servedComparison } from './own-paths/status/served-comparison.ts';
import type { RouterStatus } from './own-paths/status/status-schema.ts';
import type { Router } from './proxy/admitted-request.ts';
import { type Explanation, explainHere, type RequestToExplain } from './proxy/explain.ts';
import type { MiddlewareOptions } from './proxy/middleware.ts';
import type { RouterSettings } from './proxy/options.ts';
import { auditIdOf, withAuditId } from './request/headers.ts';
import {
  type GetInboundRequest,
  type HandlerEnvironment,
  type InboundRequest,
  webInbound,
} from './request/inbound.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import { readText } from './runtime/bytes.ts';
import type { Logger, LogVerbosity } from './runtime/logger.ts';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  formatAdvertisedServer,
} from './snapshot/addresses/addresses.ts';
import type { SnapshotReceiver } from './snapshot/receiving/receiver.ts';
import {
  getSnapshot,
  isPushTarget,
  type PushTarget,
  type SnapshotSource,
} from './snapshot/receiving/snapshot-endpoint.ts';
import { SnapshotPushes } from './snapshot/receiving/snapshot-pushes.ts';

export interface AppOptions extends MiddlewareOptions {
  /**
   * The source of the table that requests are routed by. Where the source is a `SnapshotReceiver` as well, snapshots
   * can be pushed.
   */
  readonly routingTable: SnapshotSource | (PushTarget & Pick<SnapshotReceiver, 'refusedPush' | 'concerns'>);
}

/** Sources of the own paths that a process has beyond the options. */
export interface OwnAppParts extends Omit<RouterStatusOptions, keyof AppOptions> {
  /**
   * The history of the last hour that `v1/history` and the status page show; one of `observers` as well. Default: none.
   */
  readonly history?: Pick<RouterHistory, 'view'> | undefined;
  /** True once the process has been asked to end: `/readyz` fails from then on. Default: there is no such check. */
  readonly isShuttingDown?: () => boolean;
  /**
   * The metrics that `metrics` serves under `/.mixed-version-proxy/`. Default: there is no such path.
   */
  readonly metrics?: MetricsSource | undefined;
  /** The level that `debug/flags/v` shows and sets. Default: there is no such path. */
  readonly logVerbosity?: LogVerbosity | undefined;
  /** Where peers should call this router: told to the sync job, which brings it to the others. Default: it says nothing. */
  readonly advertised?: (() => AdvertisedServer | undefined) | undefined;
}

/** @param toApiServer handles what is not the router's own after all: a health check that only API servers have */
export function createOwnApp(
  options: AppOptions & OwnAppParts & RouterSettings,
  router: Router,
  toApiServer: (inbound: InboundRequest) => Promise<Response>,
): Hono<HandlerEnvironment> {
  const { inbound = webInbound, logger, metrics } = options;
  const healthChecks = routerHealthChecks(options);
  const accept = acceptOwnRequest(router, inbound);
  const app = new Hono<HandlerEnvironment>();

  // For Hono's smallest router `/livez` and `/livez/` are one path. Here they are two, as for API servers.
  const slashBehind = ':path{.+/}';
  app.all(`/${slashBehind}`, ({ req, env }, next) =>
    req.path.startsWith(ownPathsPrefix) ? next() : toApiServer(inbound(req.raw, env)),
  );

  // /livez, /readyz, /healthz: the router's own health, open to everyone.
  app.route('/', healthEndpoints({ ...healthChecks, accept, logger }));

  // /.mixed-version-proxy/: who is calling is established first (401), and a server is asked whether they may (403, 503).
  const authorize = createDelegatedAuthorizer({ ...options, router });
  app.use(`${ownPathsPrefix}/*`, accept, identifyCaller(router));
  const authorized = onlyAuthorizedCallers(authorize);
  app.all(`${ownPathsPrefix}/${slashBehind}`, authorized, notFound);
  // Metrics. Under their plain names these paths are the API server's.
  if (metrics !== undefined) {
    app.route(ownPathsPrefix, metricsEndpoints({ metrics, healthChecks }, authorized));
  }
  app.route(ownPathsPrefix, ownPaths(options, authorize, healthChecks.readyz));

  app.all('*', ({ req, env }) => toApiServer(inbound(req.raw, env)));
  app.onError((error, context) => {
    const { inbound } = context.var;
    return internalError(error, logger, inbound === undefined ? undefined : auditIdOf(inbound));
  });
  return app;
}

/**
 * The router's own paths (metrics stand beside them), for callers whom an API server authorizes: `v1/snapshot` (GET, PUT),
 * `v1/explain?method=&url=` (GET), `v1/status` (GET), `v1/history` (GET), `debug/flags/v` (GET, PUT), the status page (GET), `/` and what
 * its script asks for; and for everybody the guides that it leads to, `docs/`.
 */
function ownPaths(
  options: AppOptions & OwnAppParts & RouterSettings,
  authorize: Authorize,
  readinessChecks: readonly HealthCheck[],
): Hono<HandlerEnvironment> {
  const { routingTable: source, history, clock } = options;
  const status = async () => {
    const table = source.current();
    if (table !== undefined) await servedComparison(table).inSlices();
    return routerStatus(options, readiness(readinessChecks), clock());
  };
  const explain = async (request: RequestToExplain) => {
    const { explanationText } = await import('./dashboard/wording/explanation-text.ts');
    const table = source.current();
    const explanation = explainHere(request, options);
    return { request, explanation, text: explanationText(request, explanation, table, options.local?.id) };
  };
  const app = new Hono<HandlerEnvironment>();
  const tellAddress = tellAdvertisedAddress(options.advertised);
  if (isPushTarget(source)) {
    const pushes = new SnapshotPushes(source);
    const signed = onlyAuthorizedOrUnknownCallers(authorize);
    app.put('/v1/snapshot', signed, tellAddress, ({ var: { inbound, caller } }) =>
      // Callers who are known here do not wait for callers who are not.
      pushes.take({ body: inbound.body(), queue: caller.kind, held: inbound.held, signal: inbound.signal }),
    );
  }
  // To everybody: they tell nothing of the cluster, and are needed most where no API server can say who may read them.
  app.get('/docs/*', async ({ req }, next) => {
    const { guidePage } = await import('./dashboard/guide-page.ts');
    return (await guidePage(req.path, req.raw.headers)) ?? next();
  });
  app.use(onlyAuthorizedCallers(authorize));
  app.get('/v1/snapshot', tellAddress, ({ var: { inbound } }) =>
    getSnapshot(firstHeader(inbound.headers, 'accept'), source),
  );
  app.get('/v1/status', async () => Response.json(await status()));
  app.get('/v1/history', () =>
    history === undefined
      ? statusResponse('NotFound', 'this runtime keeps no history: a process of its own does')
      : Response.json(history.view()),
  );
  app.get('/v1/explain', ({ req, var: { inbound } }) => explained(req.query(), inbound, explain));
  if (options.logVerbosity !== undefined) app.route('/', verbosityFlag(options.logVerbosity, options.logger));
  const pageState = async (): Promise<PageState> => ({
    status: await status(),
    history: history?.view(),
    now: clock(),
  });
  app.get('*', async ({ req }, next) => {
    // A module of its own, with a page's style and script: most processes are never asked for it.
    const { statusPage } = await import('./dashboard/status-page.ts');
    const acceptEncoding = req.header('accept-encoding');
    return (await statusPage(req.path, req.query(), { state: pageState, explain, acceptEncoding })) ?? next();
  });
  app.all('*', notFound);
  return app;
}

async function explained(
  { method = 'GET', url }: Readonly<Partial<Record<'method' | 'url', string>>>,
  { headers }: Pick<InboundRequest, 'headers'>,
  explain: (
    request: RequestToExplain,
  ) => Promise<{ readonly explanation: Explanation; readonly text: string }>,
): Promise<Response> {
  if (url === undefined) {
    return statusResponse('BadRequest', 'name the request to explain: ?method=GET&url=/apis/batch/v1/jobs');
  }
  const { explanation, text } = await explain({ method, url });
  const described = { vary: 'accept' };
  if (firstHeader(headers, 'accept') !== 'text/plain') {
    return Response.json(explanation, { headers: described });
  }
  // The URL in it is the caller's: no browser is to take it for a page.
  const asText = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  return new Response(text, { headers: { ...described, ...asText } });
}

/** Bytes of a level: `10`, and what an editor or `echo` puts behind it. */
const maximumLevelBytes = 64;

/** The log level, changed without a restart as kube-apiserver's is (k8s.io/apiserver pkg/server/routes/flags.go). */
function verbosityFlag(verbosity: LogVerbosity, logger: Logger): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  app.get('/debug/flags/v', () => new Response(`${verbosity.level}\n`));
  app.put('/debug/flags/v', async ({ var: { inbound, caller } }) => {
    const body = inbound.body();
    const text = (body === null ? '' : await readText(body, maximumLevelBytes))?.trim() ?? '';
    if (!/^\d{1,2}$/.test(text)) {
      return statusResponse('BadRequest', 'the body is not a log level: send a whole number, such as 4');
    }
    const level = Number(text);
    const user = caller.kind === 'authenticated' ? caller.user.name : undefined;
    logger.warn({ from: verbosity.level, to: level, user }, 'Log level changed');
    verbosity.level = level;
    return new Response(`successfully set -v to ${level}\n`);
  });
  return app;
}

function notFound({ req }: Context): Response {
  return statusResponse('NotFound', `the router has no ${req.method} ${req.path}`);
}

function readiness(checks: readonly HealthCheck[]): RouterStatus['readiness'] {
  const { healthy, failures } = reportHealth('readyz', checks, { verbose: true, exclude: [] });
  return { ready: healthy, failures };
}

/** The path is accepted (400) and spelled in one way only, and the response is named and recorded. */
function acceptOwnRequest(
  router: Pick<Router, 'accept'>,
  getInbound: GetInboundRequest,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const inbound = getInbound(context.req.raw, context.env);
    const requestInfo = router.accept(inbound);
    const isRefused = 'response' in requestInfo;
    if (!isRefused) {
      context.set('inbound', inbound);
      context.set('requestInfo', requestInfo);
      await next();
    }
    const response = isRefused ? requestInfo.response : context.res;
    withAuditId(response, inbound);
    inbound.record?.responded(response.status);
    return response;
  });
}

function identifyCaller(router: Pick<Router, 'identify'>): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const { inbound } = context.var;
    const caller = await router.identify(inbound);
    if (caller.kind === 'response') return caller.response;
    if (inbound.record !== undefined) inbound.record.caller = caller;
    context.set('caller', caller);
    return next();
  });
}

/** On refusals too: a router that cannot use what it is sent still knows where it is. */
function tellAdvertisedAddress(advertised: OwnAppParts['advertised'] = () => undefined) {
  return createMiddleware(async (context, next) => {
    await next();
    const server = advertised();
    if (server !== undefined) context.header(advertisedAddressHeader, formatAdvertisedServer(server));
  });
}
