import type { Dispatcher } from 'undici';
import { type Destination, isSameTrust } from '../../request/destination.ts';

/**
 * Makes the dispatcher for the requests to one destination.
 * @param presentFrontProxyCertificate whether its connections present the certificate with which a destination trusts
 *   the X-Remote headers; requests with and without it never share a connection
 */
export type DispatcherFor = (destination: Destination, presentFrontProxyCertificate: boolean) => Dispatcher;

interface InUse {
  readonly destination: Destination;
  readonly presentFrontProxyCertificate: boolean;
  readonly dispatcher: Dispatcher;
}

/** One dispatcher for each destination and identity, and retired ones until their requests have ended. */
export class DestinationDispatchers {
  readonly #dispatcherFor: DispatcherFor;
  /** By origin. Each has few, and comparing them costs less than making a key for every request. */
  readonly #byOrigin = new Map<string, InUse[]>();
  readonly #retired = new Set<Dispatcher>();

  constructor(dispatcherFor: DispatcherFor) {
    this.#dispatcherFor = dispatcherFor;
  }

  /** The current dispatcher, or a new one. */
  to(destination: Destination, presentFrontProxyCertificate: boolean): Dispatcher {
    const atOrigin = this.#byOrigin.get(destination.origin);
    const known = atOrigin?.find(
      (each) =>
        each.presentFrontProxyCertificate === presentFrontProxyCertificate &&
        leadsTo(each.destination, destination),
    );
    if (known !== undefined) return known.dispatcher;
    const dispatcher = this.#dispatcherFor(destination, presentFrontProxyCertificate);
    const added = { destination, presentFrontProxyCertificate, dispatcher };
    if (atOrigin === undefined) this.#byOrigin.set(destination.origin, [added]);
    else atOrigin.push(added);
    return dispatcher;
  }

  /** Retires the others: their connections close after the requests in flight or in the queue. */
  retireUnless(isInUse: (destination: Destination) => boolean): void {
    for (const dispatcher of this.#takeOut((destination) => !isInUse(destination))) this.#retire(dispatcher);
  }

  /** Destroys all connections to a destination; the next request opens new ones. */
  destroyTo(destination: Destination): void {
    for (const dispatcher of this.#takeOut((each) => leadsTo(each, destination))) destroy(dispatcher);
  }

  /** Closes all connections to a destination after the requests in flight. */
  retireTo(destination: Destination): void {
    this.retireUnless((each) => !leadsTo(each, destination));
  }

  /** Destroys all connections. */
  destroy(): void {
    for (const dispatcher of [...this.#takeOut(() => true), ...this.#retired]) destroy(dispatcher);
  }

  /** @returns the dispatchers that were removed */
  #takeOut(isOver: (destination: Destination) => boolean): Dispatcher[] {
    const over: Dispatcher[] = [];
    for (const [origin, all] of this.#byOrigin) {
      const left: InUse[] = [];
      for (const each of all) {
        if (isOver(each.destination)) over.push(each.dispatcher);
        else left.push(each);
      }
      if (left.length === 0) this.#byOrigin.delete(origin);
      else this.#byOrigin.set(origin, left);
    }
    return over;
  }

  #retire(dispatcher: Dispatcher): void {
    this.#retired.add(dispatcher);
    const forget = (): boolean => this.#retired.delete(dispatcher);
    // Closing fails only if it was destroyed meanwhile.
    dispatcher.close().then(forget, forget);
  }
}

/** Whether both have the same address, server name and trust, so that they can share connections. */
export function leadsTo(one: Destination, other: Destination): boolean {
  return (
    one.origin === other.origin && one.serverName === other.serverName && isSameTrust(one.trust, other.trust)
  );
}

function destroy(dispatcher: Dispatcher): void {
  // Each of its requests gets an error. It rejects only if it was closed before.
  dispatcher.destroy().catch(() => {});
}
