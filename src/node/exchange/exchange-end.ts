/**
 * Who is to be told when one exchange is over, under one listener on its stream: on an HTTP/2 stream each listener
 * is told of each other one that comes and goes. Holds nothing of the request, so that a watch keeps only what those
 * who listen need.
 */
export class ExchangeEnd {
  #listeners: (() => void)[] = [];

  /** @param listener called once, unless the end has been reached already. */
  add(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Calls everyone, in the order in which they came. */
  readonly reached = (): void => {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  };
}
