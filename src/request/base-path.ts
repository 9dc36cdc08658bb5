import type { Context } from 'hono';
import { basePath, baseRoutePath } from 'hono/route';

/**
 * The request as an app is to see it that stands under a path of another one (Hono's `route` and `basePath`): without that path.
 * `mount` cuts the path off itself.
 */
export function belowBasePath(context: Context): Request {
  const { raw } = context.req;
  if (baseRoutePath(context) === '/') return raw;
  const base = basePath(context);
  const start = raw.url.indexOf('/', raw.url.indexOf('//') + 2);
  if (!raw.url.startsWith(base, start)) return raw;
  const rest = raw.url.slice(start + base.length);
  const url = `${raw.url.slice(0, start)}${rest.startsWith('/') ? '' : '/'}${rest}`;
  return new Request(url, raw as RequestInit);
}
