import { type AppOptions, createApp } from '../app.ts';
import type { HandlerContext } from '../proxy/handler-environment.ts';
import type { WorkerInboundRequest } from './worker-inbound.ts';

export type FetchHandler = (inbound: WorkerInboundRequest) => Promise<Response>;

/** What the chain is called with beside the request: the request as the door took it. */
interface Bindings {
  readonly inbound: WorkerInboundRequest;
}

/**
 * The whole handler chain, for what does not take the direct lane: health, discovery and OpenAPI documents, the
 * router's own paths, and resources under unusual spellings. In a module of its own, with Hono and all that merges.
 */
export function createFetchHandler(options: Omit<AppOptions, 'inbound'>): FetchHandler {
  const app = createApp({
    ...options,
    inbound: (context: HandlerContext) => (context.env as Bindings).inbound,
  });
  return async (inbound) => app.fetch(inbound.request, { inbound } satisfies Bindings);
}
