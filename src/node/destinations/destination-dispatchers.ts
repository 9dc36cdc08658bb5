import type { Dispatcher } from 'undici';
import { type Destination, isSameTrust } from '../../request/transport.ts';

/**
 * Makes what carries requests to one destination.
 * @param presentFrontProxyCertificate whether its connections show the certificate that makes a destination believe
 *   the X-Remote headers; requests with and without it never share a connection.
 */
export type DispatcherFor = (destination: Destination, presentFrontProxyCertificate: boolean) => Dispatcher;

interface InUse {
  readonly destination: Destination;
  readonly presentFrontProxyCertificate: boolean;
  readonly dispatcher: Dispatcher;
}

/** One dispatcher for each destination and identity, and those that are out of use until their requests have ended. */
export class DestinationDispatchers {
  readonly #dispatcherFor: DispatcherFor;
  /** By origin, under which there are few: looking at each costs less than to make a key for every request. */
  readonly #byOrigin = new Map<string, InUse[]>();
  readonly #retired = new Set<Dispatcher>();

  constructor(dispatcherFor: DispatcherFor) {
    this.#dispatcherFor = dispatcherFor;
  }

  /** The one in use, or a new one. */
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

  /** Takes the others out of use: their connections close once what is in flight or waits for them has ended. */
  retireUnless(isInUse: (destination: Destination) => boolean): void {
    for (const dispatcher of this.#takeOut((destination) => !isInUse(destination))) this.#retire(dispatcher);
  }

  /** Cuts everything on the way to a destination; the next request opens new connections. */
  destroyTo(destination: Destination): void {
    for (const dispatcher of this.#takeOut((each) => leadsTo(each, destination))) destroy(dispatcher);
  }

  /** The same, once what is in flight has ended. */
  retireTo(destination: Destination): void {
    this.retireUnless((each) => !leadsTo(each, destination));
  }

  /** Ends everything at once. */
  destroy(): void {
    for (const dispatcher of [...this.#takeOut(() => true), ...this.#retired]) destroy(dispatcher);
  }

  /** @returns those that are not for new requests any more. */
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
    // Closing fails only for one that was destroyed meanwhile.
    dispatcher.close().then(forget, forget);
  }
}

/** Whether both are one server, reached in one way: at one place, under one name and trust. */
export function leadsTo(one: Destination, other: Destination): boolean {
  return (
    one.origin === other.origin && one.serverName === other.serverName && isSameTrust(one.trust, other.trust)
  );
}

function destroy(dispatcher: Dispatcher): void {
  // It tells each of its requests; that it was closed before is no news.
  dispatcher.destroy().catch(() => {});
}
