import { Hono, type MiddlewareHandler } from 'hono';
import type { OidcIssuer } from '../identity/oidc-token/oidc-issuer.ts';
import type { HandlerEnvironment } from '../request/router.ts';

/** API servers fetch the keys again when they meet a new `kid`; the age only spares them needless questions. */
const cacheControl = 'public, max-age=300';

/**
 * The issuer's discovery document and its public keys, open to everyone: API servers fetch them anonymously.
 * @param accept stands before each of them
 */
export function oidcDocuments(
  { configurationPath, configuration, keysPath, keys }: OidcIssuer,
  accept: MiddlewareHandler<HandlerEnvironment>,
): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  app.get(configurationPath, accept, (context) =>
    context.json(configuration, 200, { 'cache-control': cacheControl }),
  );
  // RFC 7517 section 8.5.2.
  const keysHeaders = { 'cache-control': cacheControl, 'content-type': 'application/jwk-set+json' };
  app.get(keysPath, accept, (context) => context.body(JSON.stringify(keys), 200, keysHeaders));
  return app;
}
