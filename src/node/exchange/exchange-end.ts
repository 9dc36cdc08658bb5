/**
 * Calls several listeners when an exchange ends, with one listener on its stream or socket. It does not refer to the
 * request, so an open watch keeps only what the listeners need.
 */
export class ExchangeEnd {
  #listeners: (() => void)[] = [];

  /** @param listener called once, unless the exchange has ended already */
  add(listener: () => void): void {
    this.#listeners.push(listener);
  }

  readonly reached = (): void => {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  };
}
