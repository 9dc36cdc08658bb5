import type { MiddlewareHandler } from 'hono';
import { Hono } from 'hono/tiny';
import { textResponse } from '../apimachinery/content-coding.ts';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { HandlerEnvironment } from '../request/inbound.ts';
import { type InboundRequest, inboundFromRequest } from '../request/inbound.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { parseIpAddress } from '../snapshot/addresses/addresses.ts';
import {
  type HealthCheck,
  type HealthEndpoint,
  healthEndpoints,
  openToEveryone,
  type RouterHealthOptions,
  routerHealthChecks,
} from './health.ts';

interface MetricsEndpointsOptions {
  readonly metrics: MetricsSource;
  /** By endpoint: run for each scrape. */
  readonly healthChecks: Readonly<Record<HealthEndpoint, readonly HealthCheck[]>>;
}

/** `metrics`. @param guard stands before it; at an address that keeps others away it lets everyone through */
export function metricsEndpoints(
  { metrics, healthChecks }: MetricsEndpointsOptions,
  guard: MiddlewareHandler<HandlerEnvironment>,
): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  app.get('/metrics', guard, async ({ var: { inbound } }) => {
    const health = (['healthz', 'livez', 'readyz'] as const).flatMap((endpoint) =>
      healthChecks[endpoint].map(({ name, check }) => {
        const isHealthy = check({ byPeer: false }) === undefined;
        return { endpoint, name, isHealthy };
      }),
    );
    return metricsResponse(inbound, await metrics.scrape(health));
  });
  return app;
}

export function metricsResponse(
  { headers }: Pick<InboundRequest, 'headers'>,
  text: string,
): Promise<Response> {
  const described = {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'cache-control': 'no-store',
  };
  return textResponse(text, described, firstHeader(headers, 'accept-encoding'));
}

export interface CheckedHealth {
  readonly endpoint: HealthEndpoint;
  readonly name: string;
  readonly isHealthy: boolean;
}

export interface MetricsSource {
  /** In the text format of Prometheus. @param health results of the health checks at this moment (KEP-3466) */
  scrape(health: readonly CheckedHealth[]): Promise<string>;
}

interface AdminEndpointsOptions extends RouterHealthOptions {
  readonly metrics: MetricsSource;
  readonly logger?: Logger;
}

/** Health and metrics, to everyone. There is nothing here that could send a request on. */
export function adminEndpoints(options: AdminEndpointsOptions): Hono<HandlerEnvironment> {
  const { metrics, logger = silentLogger } = options;
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
  app.route('/', healthEndpoints({ ...healthChecks, logger }));
  app.route('/', metricsEndpoints({ metrics, healthChecks }, openToEveryone));
  app.notFound(({ req }) => statusResponse('NotFound', `there is no ${req.method} ${req.path} here`));
  return app;
}

function isAddressOrLocalhost(hostname: string): boolean {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return host === 'localhost' || parseIpAddress(host) !== undefined;
}
