import { Hono } from 'hono';
import type { HandlerEnvironment, HandlerVariables } from '../../proxy/handler-environment.ts';
import { ownPathsPrefix } from '../../proxy/own-path-target.ts';

type OwnPaths = typeof import('../../proxy/own-paths.ts');

interface Bindings {
  readonly established: HandlerVariables;
}

/**
 * Stands for `proxy/own-paths.ts` in the Worker's entry (scripts/build-worker.ts): the router's own paths are loaded
 * when the first request asks for one. The module is imported for each request, which costs a look into the runtime's
 * module registry, so that no request waits for a promise of another one.
 */
export const ownPaths: OwnPaths['ownPaths'] = (options, allowed) => {
  let whole: Hono<HandlerEnvironment> | undefined;
  const app = new Hono<HandlerEnvironment>();
  app.all('*', async ({ req, var: established }) => {
    const loaded = await import('../../proxy/own-paths.ts');
    whole ??= withVariables(loaded.ownPaths(options, allowed));
    const bindings: Bindings = { established };
    return whole.fetch(req.raw, bindings);
  });
  return app;
};

/** The paths under their prefix, with what the chain has established about the request. */
function withVariables(paths: Hono<HandlerEnvironment>): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  app.use((context, next) => {
    const { established } = context.env as Bindings;
    context.set('inbound', established.inbound);
    context.set('requestInfo', established.requestInfo);
    context.set('caller', established.caller);
    return next();
  });
  app.route(ownPathsPrefix, paths);
  return app;
}
