import type { DirectLane } from '../../proxy/direct-lane.ts';
import type { RouterHandlers } from '../router-handlers.ts';

/**
 * The handlers of the moment. A request that is under way ends with those it began with, so that it never meets one
 * half of two configurations.
 */
export class LiveHandlers implements RouterHandlers {
  readonly directLane: DirectLane | undefined;
  #current: RouterHandlers;

  constructor(first: RouterHandlers) {
    this.#current = first;
    const { directLane } = first;
    this.directLane = directLane && {
      // By the path alone, whatever the configuration is.
      takes: directLane.takes,
      handle: (inbound) => (this.#current.directLane ?? directLane).handle(inbound),
    };
  }

  readonly fetch: RouterHandlers['fetch'] = (request, bindings) => this.#current.fetch(request, bindings);

  readonly onUpgrade: RouterHandlers['onUpgrade'] = (incoming, socket, firstBytes) =>
    this.#current.onUpgrade(incoming, socket, firstBytes);

  readonly admin: RouterHandlers['admin'] = (request) => this.#current.admin(request);

  /** For requests from now on. */
  replace(next: RouterHandlers): void {
    this.#current = next;
  }
}
