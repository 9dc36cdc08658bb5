import { createApp } from '../app.ts';
import type { Logger } from '../observe/logger.ts';
import { createRouter } from '../proxy/create-router.ts';
import type { Destination } from '../proxy/transport.ts';
import type { ExecutionContext, Fetcher } from './bindings.ts';
import { createFetchSender, createFetchTransport, type Fetch } from './fetch-transport.ts';
import type { PreparedWorker } from './prepare.ts';
import { belongsToTheRouter } from './router-work.ts';
import { WorkerInboundRequest } from './worker-inbound.ts';

/** One isolate's router. */
export interface WorkerApp {
  fetch(request: Request, context: ExecutionContext): Promise<Response>;
}

/** What the runtime adds to a request; on Cloudflare an object, on self-hosted workerd what its operator says. */
interface PlatformRequest extends Request {
  readonly cf?: unknown;
}

/** Puts the router together from what was prepared. */
export function createWorkerApp(prepared: PreparedWorker, logger: Logger): WorkerApp {
  const { local, receiver, certificateOf } = prepared;
  const transportOptions = {
    fetch: fetchOf(prepared.destinations),
    frontProxyFetch: fetchOf(prepared.frontProxy),
  };
  const routerOptions = {
    serverId: local?.serverId,
    local: local && localDestination(local),
    routingTable: receiver,
    transport: createFetchTransport(transportOptions),
    authenticators: prepared.authenticators,
    identityTokens: prepared.identityTokens,
    stalePolicy: prepared.stalePolicy,
    pseudonym: prepared.pseudonym,
    logger,
  };
  const router = createRouter(routerOptions);
  const send = createFetchSender(transportOptions);
  const inboundOf = (request: PlatformRequest): WorkerInboundRequest =>
    new WorkerInboundRequest(request, certificateOf(request.cf));
  const app = createApp({
    ...routerOptions,
    router,
    inbound: ({ req }) => inboundOf(req.raw),
    allowedCallers: prepared.allowedCallers,
    oidcIssuer: prepared.oidcIssuer,
  });

  return {
    async fetch(request, context) {
      const waitUntil: ExecutionContext['waitUntil'] = (promise) => context.waitUntil(promise);
      await prepared.beforeRequest(waitUntil);
      // The runtime hands the header over whatever it holds.
      if (request.headers.has('upgrade')) {
        const { upgradeWebSocket } = await import('./websocket-upgrade.ts');
        return upgradeWebSocket(inboundOf(request), router, send);
      }
      const answer = Promise.resolve(app.fetch(request, {}));
      // A push that its sender gives up on must still end, or the turns behind it would never come.
      if (belongsToTheRouter(request.url)) waitUntil(answer.catch(() => undefined));
      return answer;
    },
  };
}

function localDestination({ serverId, origin }: { serverId: string; origin: string }): Destination {
  const { hostname } = new URL(origin);
  return { kind: 'local', id: serverId, origin, serverName: hostname, trust: { kind: 'peer-ca' } };
}

function fetchOf(binding: Fetcher | undefined): Fetch | undefined {
  return binding && ((url, init) => binding.fetch(url, init));
}
