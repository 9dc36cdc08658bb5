import { isUriHost } from '../../apimachinery/request-target.ts';
import { internalError, statusResponse } from '../../apimachinery/status.ts';
import { createApp } from '../../app.ts';
import { HttpRouter } from '../../proxy/handle-request.ts';
import { resolveOptions } from '../../proxy/options.ts';
import { createFetchSender, type Fetch, transportOf } from '../../request/fetch-transport.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import type { Logger } from '../../runtime/logger.ts';
import type {
  CallerMethods,
  ObserverConfiguration,
  WorkerConfiguration,
} from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { CallerIdentification } from '../identity/callers.ts';
import type { ExecutionContext, Fetcher } from '../platform/bindings.ts';
import { type PlatformRequest, WorkerInboundRequest } from '../platform/worker-inbound.ts';
import { createSharedSnapshots } from '../snapshot/snapshot-keeping.ts';

async function identificationOf(callers: CallerMethods, logger: Logger): Promise<CallerIdentification> {
  if (!callers.clientCertificates && callers.tokenIssuer === undefined)
    return { authenticators: [], certificateOf: () => ({}) };
  const { createCallerIdentification } = await import('../identity/callers.ts');
  return createCallerIdentification(callers, logger);
}

async function observersOf(observers: ObserverConfiguration, logger: Logger) {
  if (!observers.accessLog && observers.analytics === undefined) return [];
  const { createRequestObservers } = await import('../observe/request-observers.ts');
  return createRequestObservers(observers, logger);
}

/**
 * This Worker's name in `Via`, by which a request that comes back is noticed. A random name, as elsewhere, would be another
 * one in each isolate, and a loop would be noticed only by chance.
 */
async function pseudonymOf({ local, assertions }: WorkerConfiguration): Promise<string> {
  const named = JSON.stringify([local?.id, local?.origin, assertions?.issuer]);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(named));
  return `mixed-version-proxy-${new Uint8Array(digest, 0, 8).toHex()}`;
}

export interface WorkerApp {
  /** Never rejects. */
  fetch(request: Request, context: ExecutionContext): Promise<Response>;
}

/**
 * Makes an isolate's router of its environment.
 * @throws {WorkerConfigurationError} with every error
 */
export async function startWorkerApp(environment: object, logger: Logger): Promise<WorkerApp> {
  const configuration = await readConfiguration(environment);
  const { local, snapshot, callers, assertions } = configuration;
  const { receiver, beforeRequest } = await createSharedSnapshots({ ...snapshot, logger });
  const { authenticators, certificateOf } = await identificationOf(callers, logger);
  const send = createFetchSender({
    fetch: fetchOf(configuration.destinations),
    frontProxyFetch: fetchOf(configuration.frontProxy),
  });
  const routerOptions = resolveOptions({
    local,
    routingTable: receiver,
    transport: transportOf(send),
    authenticators,
    assertionSigner: assertions?.signer,
    preferredVersion: snapshot.preferredVersion,
    pseudonym: await pseudonymOf(configuration),
    observers: await observersOf(configuration.observers, logger),
    logger,
  });
  const router = new HttpRouter(routerOptions);
  const app = createApp({
    ...routerOptions,
    router,
    inbound: (request, env) =>
      env instanceof WorkerInboundRequest ? env : new WorkerInboundRequest(request, {}),
  });

  async function upgrade(inbound: WorkerInboundRequest): Promise<Response> {
    const { upgradeWebSocket } = await import('./websocket-upgrade.ts');
    return upgradeWebSocket(inbound, router, send, logger);
  }

  return {
    async fetch(request: PlatformRequest, context) {
      const host = request.headers.get('host');
      if (host !== null && !isUriHost(host)) return hostRefused();
      if (!hasPath(request.url)) return targetRefused();
      try {
        const waitUntil: ExecutionContext['waitUntil'] = (promise) => context.waitUntil(promise);
        // An upgrade runs a command, whatever its method.
        const isUpgrade = request.headers.has('upgrade');
        await beforeRequest(isUpgrade ? 'CONNECT' : request.method, waitUntil);
        const inbound = new WorkerInboundRequest(request, certificateOf(request.cf));
        // The runtime hands the header over whatever it holds.
        if (isUpgrade) return await upgrade(inbound);
        const response = Promise.resolve(app.fetch(request, inbound));
        // A push that its sender gives up on must still end, or the turns after it would never come.
        if (inbound.target.startsWith(`${ownPathsPrefix}/`)) waitUntil(response.catch(() => undefined));
        return await response;
      } catch (error) {
        // A part that could not be loaded, among others: the next request tries again.
        return internalError(error, logger);
      }
    },
  };
}

/** workerd appends the target of `OPTIONS *` to the host as it is (RFC 9112 section 3.2.4). */
function hasPath(url: string): boolean {
  return url.includes('/', url.indexOf('//') + 2);
}

function targetRefused(): Response {
  return statusResponse(
    'BadRequest',
    "request target refused: it does not begin with '/': send path and query",
  );
}

/** workerd puts the Host header in front of the target and parses both as one URL. */
function hostRefused(): Response {
  return statusResponse('BadRequest', "the Host header is no host: send 'Host: name' or 'Host: name:port'");
}

function fetchOf(binding: Fetcher | undefined): Fetch | undefined {
  return binding && ((request) => binding.fetch(request));
}
