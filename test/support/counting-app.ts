/**
 * Takes the place of `src/app.ts` for everybody who imports that from here on, and counts the requests that pass the
 * app. Import it first, and what is to be counted with `import()`.
 */
import { registerHooks } from 'node:module';
import type { AppOptions, createApp as CreateApp } from '../../src/app.ts';

const realApp = new URL('../../src/app.ts', import.meta.url).href;
/** A module of its own to Node: the one that is counted. */
const countedApp = `${realApp}?counted`;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    return resolved.url === realApp ? { ...resolved, url: import.meta.url } : resolved;
  },
});
const { createApp: createRealApp } = (await import(countedApp)) as { createApp: typeof CreateApp };

/** A request as the app was given it, with what its adapter gave beside. */
interface Passage {
  readonly request: Request;
  readonly environment: unknown;
}

/** In their order. */
export const passages: Passage[] = [];

export function createApp(options: AppOptions): ReturnType<typeof CreateApp> {
  const app = createRealApp(options);
  const { fetch } = app;
  app.fetch = (request, environment, ...rest) => {
    passages.push({ request, environment });
    return fetch(request, environment, ...rest);
  };
  return app;
}
