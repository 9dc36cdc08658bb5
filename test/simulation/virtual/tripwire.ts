import { createHook } from 'node:async_hooks';
import { activeRun, currentMachine } from './virtual-time.ts';

/**
 * Resources that follow from an event before the next one: microtasks, and `process.nextTick`. The loop's own turn is
 * an Immediate.
 */
const harmless = new Set(['PROMISE', 'Microtask', 'TickObject', 'STREAM_END_OF_STREAM']);

/**
 * Resources of `node:crypto` without a callback, each done when its call returns: `globals.ts` has Web Crypto sign and
 * verify by it.
 */
const synchronous = new Set(['SIGNREQUEST']);

/** Made once for each process that measures its event loop, whatever runs in it. */
const ofMetrics = new Set(['ELDHISTOGRAM']);

/**
 * Notes everything that a program in a run starts outside of virtual time (a real timer, a file, a thread): its end would come
 * in another order each time. It keeps the simulation honest as the program grows.
 */
export function tripwire() {
  const found = new Map<string, number>();
  const hook = createHook({
    init(_id, type) {
      if (activeRun() === undefined || currentMachine() === undefined) return;
      if (harmless.has(type) || ofMetrics.has(type) || synchronous.has(type)) return;
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 20;
      const lines = (new Error().stack ?? '').split('\n').slice(2);
      Error.stackTraceLimit = stackTraceLimit;
      const place = lines.filter((line) => !line.includes('node:')).slice(0, 4);
      const key = `${type}: ${place.map((line) => line.trim()).join(' < ')}`;
      found.set(key, (found.get(key) ?? 0) + 1);
    },
  });
  hook.enable();
  return {
    /** Resources that were started, with how often. */
    found: (): readonly string[] => [...found].map(([key, count]) => `${count} x ${key}`),
    end: () => hook.disable(),
  };
}
