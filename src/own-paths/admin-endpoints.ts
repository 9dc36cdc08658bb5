import { Hono } from 'hono';
import { statusResponse } from '../apimachinery/status.ts';
import { localServerId } from '../proxy/options.ts';
import { inboundFromRequest } from '../request/inbound.ts';
import { ownPathsPrefix } from '../request/own-path-target.ts';
import type { HandlerEnvironment } from '../request/router.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { parseIpAddress } from '../snapshot/addresses/ip-address.ts';
import type { SnapshotReceiver } from '../snapshot/receiving/receiver.ts';
import {
  getSnapshot,
  putRenewal,
  putSnapshot,
  sealedMediaType,
} from '../snapshot/receiving/snapshot-endpoint.ts';
import { healthEndpoints } from './health-checks/health-endpoints.ts';
import { type RouterHealthOptions, routerHealthChecks } from './health-checks/router-health-checks.ts';
import { type MetricsSource, metricsEndpoints } from './metrics-endpoints.ts';
import { type AdvertisedSource, tellAdvertisedAddress } from './tell-advertised-address.ts';
import { type ProcessFacts, zPages } from './z-pages.ts';

export interface AdminEndpointsOptions extends RouterHealthOptions {
  /** Takes snapshots that are pushed here. Default: none are. */
  readonly snapshots?: SnapshotReceiver | undefined;
  /** Where peers should call this router: told to who brings snapshots. Default: it says nothing. */
  readonly advertised?: AdvertisedSource | undefined;
  readonly metrics?: MetricsSource | undefined;
  readonly processFacts: ProcessFacts;
  readonly logger?: Logger;
}

/**
 * What the admin address serves: health, metrics and z-pages, to everyone, and nothing else. It has no router:
 * there is nothing here that could send a request on. It takes snapshots, for of routers that share a port each is to be
 * reached by itself; their signature says whether they count, not who brings them.
 */
export function adminEndpoints(options: AdminEndpointsOptions): Hono<HandlerEnvironment> {
  const {
    snapshots,
    metrics,
    processFacts: facts,
    settings,
    clock = Date.now,
    logger = silentLogger,
  } = options;
  const healthChecks = routerHealthChecks(options);
  const app = new Hono<HandlerEnvironment>();
  app.use(async (context, next) => {
    // A page in a browser on this host could have its own name resolve to loopback, and read what is served here
    // as its own (DNS rebinding). Probes and monitors ask for an address.
    if (!isAddressOrLocalhost(new URL(context.req.url).hostname)) {
      return statusResponse('Forbidden', 'ask for an IP address or localhost: no other host is served here');
    }
    context.set('inbound', inboundFromRequest(context.req.raw));
    return next();
  });
  const onChecked = metrics?.healthChecked.bind(metrics);
  app.route('/', healthEndpoints({ ...healthChecks, logger, onChecked }));
  if (metrics !== undefined) app.route('/', metricsEndpoints({ metrics, healthChecks }, 'everyone'));
  app.route('/', zPages({ facts, settings, localServerId: () => localServerId(options) }, 'everyone', clock));
  if (snapshots !== undefined) app.route(ownPathsPrefix, pushedSnapshots(snapshots, options.advertised));
  app.notFound(({ req }) => statusResponse('NotFound', `there is no ${req.method} ${req.path} here`));
  return app;
}

/**
 * `v1/snapshot` (PUT; HEAD: which one is held) and `v1/snapshot/renewal` (PUT). What a snapshot holds is for allowed
 * callers, on the serving port. One push at a time: callers are not authenticated, and a snapshot can be large.
 */
function pushedSnapshots(
  receiver: SnapshotReceiver,
  advertised: AdvertisedSource | undefined,
): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  app.use('/v1/snapshot/*', tellAdvertisedAddress(advertised));
  let isTaking = false;
  const take = async (respond: () => Promise<Response>): Promise<Response> => {
    if (isTaking) return statusResponse('TooManyRequests', 'another push is being taken: try again');
    isTaking = true;
    try {
      return await respond();
    } finally {
      isTaking = false;
    }
  };
  app.get('/v1/snapshot', ({ req }, next) =>
    req.method === 'HEAD' ? Promise.resolve(getSnapshot(sealedMediaType, receiver)) : next(),
  );
  app.put('/v1/snapshot', ({ var: { inbound } }) => take(() => putSnapshot(inbound.body(), receiver)));
  app.put('/v1/snapshot/renewal', ({ var: { inbound } }) => take(() => putRenewal(inbound.body(), receiver)));
  return app;
}

function isAddressOrLocalhost(hostname: string): boolean {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return host === 'localhost' || parseIpAddress(host) !== undefined;
}
