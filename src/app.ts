import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import { type AppOptions, createFetchHandler } from './fetch-handler.ts';
import type { HandlerEnvironment } from './request/router.ts';
import { silentLogger } from './runtime/logger.ts';

export type { AppOptions } from './fetch-handler.ts';

/**
 * The whole router as one Hono app. Every request meets its one handler, which Hono then calls without composing a chain.
 *
 * @example
 * ```ts
 * const app = createApp({ local, routingTable: receiver, transport });
 * const response = await app.fetch(new Request('https://router.example/readyz'));
 * console.log(response.status); // 200
 * ```
 */
export function createApp(options: AppOptions): Hono<HandlerEnvironment> {
  const { logger = silentLogger } = options;
  const handle = createFetchHandler(options);
  const app = new Hono<HandlerEnvironment>();
  app.all('*', ({ req, env }) => handle(req.raw, env));
  app.onError((error) => internalError(error, logger));
  return app;
}
