import type { Hono } from 'hono/tiny';
import { createApp as createWholeApp } from './app.ts';
import type { AppOptions } from './own-app.ts';
import { checkOptions } from './proxy/options.ts';
import { belowBasePath } from './request/base-path.ts';
import type { HandlerEnvironment } from './request/inbound.ts';

/**
 * The whole router as one portable fetch handler. It works by itself, and under a path of another Hono app by `route` or `mount`.
 *
 * @throws {TypeError} with everything that is missing in the options
 *
 * @example
 * ```ts
 * const app = createApp({ local, routingTable: receiver, transport });
 * const response = await app.fetch(new Request('https://router.example/readyz'));
 * console.log(response.status); // 200
 * ```
 */
export function createApp(options: AppOptions): Hono<HandlerEnvironment> {
  checkOptions(options);
  return createWholeApp({ ...options, requestOf: belowBasePath });
}
