import type { RouterHandlers } from './router-handlers.ts';

/**
 * The handlers of the moment. A request that is under way ends with those it began with, so that it never meets one
 * half of two configurations.
 */
export class LiveHandlers implements RouterHandlers {
  #current: RouterHandlers;

  constructor(first: RouterHandlers) {
    this.#current = first;
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
