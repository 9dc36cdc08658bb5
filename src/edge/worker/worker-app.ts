import { isUriHost } from '../../apimachinery/request-target.ts';
import { internalError, statusResponse } from '../../apimachinery/status.ts';
import { createApp } from '../../app.ts';
import { createRouter } from '../../proxy/router.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import type { HandlerContext } from '../../request/router.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ExecutionContext, Fetcher } from '../platform/bindings.ts';
import { createFetchSender, createFetchTransport, type Fetch } from '../platform/fetch-transport.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';
import { type PreparedWorker, prepareWorker } from './prepare.ts';

/** One isolate's router. */
export interface WorkerApp {
  /** Never rejects. */
  fetch(request: Request, context: ExecutionContext): Promise<Response>;
}

/** What the app is called with in addition to the request: the request as it was received. */
interface Bindings {
  readonly inbound: WorkerInboundRequest;
}

/** The runtime's `request.cf`: an object on Cloudflare; on self-hosted workerd, as its operator configured. */
interface PlatformRequest extends Request {
  readonly cf?: unknown;
}

/**
 * Makes an isolate's router of its environment.
 * @throws {WorkerConfigurationError} with every error
 */
export async function startWorkerApp(environment: object, logger: Logger): Promise<WorkerApp> {
  return createWorkerApp(await prepareWorker(environment, logger), logger);
}

/**
 * Puts the router together from what was prepared: the app that is the router everywhere. What merges documents, the
 * router's own paths, and what carries WebSockets are loaded when they are first needed.
 */
export function createWorkerApp(prepared: PreparedWorker, logger: Logger): WorkerApp {
  const { configuration, receiver, certificateOf } = prepared;
  const { local, snapshot } = configuration;
  const send = createFetchSender({
    fetch: fetchOf(configuration.destinations),
    frontProxyFetch: fetchOf(configuration.frontProxy),
  });
  const routerOptions = {
    local,
    routingTable: receiver,
    transport: createFetchTransport(send),
    authenticators: prepared.authenticators,
    assertionSigner: prepared.assertionSigner,
    preferredVersion: snapshot.preferredVersion,
    pseudonym: prepared.pseudonym,
    logger,
  };
  const router = createRouter(routerOptions);
  const inbound = (context: HandlerContext) => (context.env as Bindings).inbound;
  const app = createApp({ ...routerOptions, router, inbound });

  async function upgrade(inbound: WorkerInboundRequest): Promise<Response> {
    const { upgradeWebSocket } = await import('./websocket-upgrade.ts');
    return upgradeWebSocket(inbound, router, send, logger);
  }

  return {
    async fetch(request: PlatformRequest, context) {
      const host = request.headers.get('host');
      if (host !== null && !isUriHost(host)) return hostRefused();
      try {
        const waitUntil: ExecutionContext['waitUntil'] = (promise) => context.waitUntil(promise);
        await prepared.beforeRequest(waitUntil);
        const inbound = new WorkerInboundRequest(request, certificateOf(request.cf));
        // The runtime hands the header over whatever it holds.
        if (request.headers.has('upgrade')) return await upgrade(inbound);
        const response = Promise.resolve(app.fetch(request, { inbound } satisfies Bindings));
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

/** workerd puts the Host header in front of the target and parses both as one URL. */
function hostRefused(): Response {
  return statusResponse('BadRequest', "the Host header is no host: send 'Host: name' or 'Host: name:port'");
}

function fetchOf(binding: Fetcher | undefined): Fetch | undefined {
  return binding && ((url, init) => binding.fetch(url, init));
}
