import { Hono, type MiddlewareHandler } from 'hono';
import { statusResponse } from '../apimachinery/status.ts';
import { inboundFromRequest } from '../request/inbound.ts';
import type { HandlerEnvironment } from '../request/router.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { parseIpAddress } from '../snapshot/addresses/ip-address.ts';
import { healthEndpoints } from './health-checks/health-endpoints.ts';
import { type RouterHealthOptions, routerHealthChecks } from './health-checks/router-health-checks.ts';
import { type MetricsSource, metricsEndpoints } from './metrics-endpoints.ts';

interface AdminEndpointsOptions extends RouterHealthOptions {
  readonly metrics: MetricsSource;
  readonly logger?: Logger;
}

/**
 * What the admin address serves: health and metrics, to everyone, and nothing else. It has no router: there is nothing
 * here that could send a request on.
 */
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
  const onChecked = metrics.healthChecked.bind(metrics);
  app.route('/', healthEndpoints({ ...healthChecks, logger, onChecked }));
  app.route('/', metricsEndpoints({ metrics, healthChecks }, openToEveryone));
  app.notFound(({ req }) => statusResponse('NotFound', `there is no ${req.method} ${req.path} here`));
  return app;
}

function isAddressOrLocalhost(hostname: string): boolean {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return host === 'localhost' || parseIpAddress(host) !== undefined;
}

const openToEveryone: MiddlewareHandler<HandlerEnvironment> = (_context, next) => next();
