import type { NodeBindings, NodeInboundRequest } from '../../src/node/node-inbound.ts';
import type { RouterServerOptions } from '../../src/node/server.ts';
import type { DirectLane } from '../../src/proxy/direct-lane.ts';

/**
 * How requests get into the servers that tests start: as the product has it, by the direct lane.
 * `test/every-exchange-by-the-handlers.test.ts` has their tests run without.
 */
export const wayIn = { byLane: true };

/** Spelled so that a URL parser leaves it as it is: everything else is refused behind the lane. */
const plainTarget = /^\/[\w./?&=%~-]*$/;

/** A lane that answers what `fetch` answers; `undefined` where the handlers are to have every request. */
export function laneTo(fetch: RouterServerOptions['fetch']): DirectLane | undefined {
  if (!wayIn.byLane) return undefined;
  return {
    takes: (target) => plainTarget.test(target),
    async handle(inbound) {
      const { method, target } = inbound;
      // Handlers of tests look at the request as it stood on the wire, not at Node's objects, which not all have.
      const bindings = { inbound: inbound as NodeInboundRequest } as NodeBindings;
      return fetch(new Request(`https://localhost${target}`, { method }), bindings);
    },
  };
}
