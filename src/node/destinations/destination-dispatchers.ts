import type { OnReadOpts } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';
import { Http2Pool } from '../../http2/client/http2-pool.ts';
import { type Destination, isSameTrust } from '../../request/destination.ts';
import {
  maximumHeaderBytes,
  maximumStreamWindow,
  memoryForOthers,
  streamWindow,
} from '../exchange/serving-limits.ts';
import { http1Pool } from './http1-pool.ts';
import { maximumResponseHeaderBytes, maximumResponseLines } from './limited-responses.ts';
import type { TlsDialer } from './tls-dialer.ts';

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

export interface ConnectionLimits {
  /** HTTP/2 streams on one connection. kube-apiserver allows 100 to 250, depending on its version. */
  readonly streamsPerConnection: number;
  /** Another HTTP/2 connection is opened when the least used one has this many streams. */
  readonly spreadAt: number;
  /** HTTP/2 connections to one destination. */
  readonly http2Connections: number;
  /** HTTP/1.1 connections to one destination without HTTP/2; a watch occupies one. */
  readonly http1Connections: number;
  /** Milliseconds that an idle HTTP/1.1 connection is kept; less than servers keep it, so that they do not close first. */
  readonly keepAliveTimeout: number;
}

const defaultLimits: ConnectionLimits = {
  streamsPerConnection: 100,
  spreadAt: 32,
  http2Connections: 256,
  http1Connections: 4_096,
  keepAliveTimeout: 30_000,
};

/** What a server sends ahead has to be held if the client does not read. */
const windowGrowth = {
  maximum: maximumStreamWindow,
  hasRoomFor: (bytes: number) => memoryForOthers.hasRoomFor(bytes),
};

/** What destinations at an origin end. */
export interface ConnectionEvents {
  /** Called if one sent GOAWAY, or broke off a response. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
  /** Called if one closed a connection without GOAWAY, or sends nothing on it any more. */
  readonly onConnectionLost?: ((origin: string) => void) | undefined;
}

/** Makes dispatchers with connections of `dialer`: HTTP/2 if the destination has it, otherwise undici's HTTP/1.1 pool. */
export function mutualTlsDispatchers(
  dialer: TlsDialer,
  limits: Partial<ConnectionLimits>,
  { onBrokenOff, onConnectionLost }: ConnectionEvents,
): DispatcherFor {
  const { streamsPerConnection, spreadAt, http2Connections, http1Connections, keepAliveTimeout } = {
    ...defaultLimits,
    ...limits,
  };
  return (destination, presentFrontProxyCertificate) => {
    const { origin } = destination;
    const connect = async (
      protocols: readonly ('h2' | 'http/1.1')[],
      onread?: OnReadOpts,
    ): Promise<TLSSocket> => {
      const socket = await dialer.dial({ destination, presentFrontProxyCertificate, protocols, onread });
      whenLost(socket, () => onConnectionLost?.(origin));
      return socket;
    };
    return new Http2Pool(origin, {
      connect: (onread) => connect(['h2', 'http/1.1'], onread),
      http1: http1Pool({
        ...{ origin, keepAliveTimeout },
        connections: http1Connections,
        connect: () => connect(['http/1.1']),
      }),
      ...{ streamsPerConnection, spreadAt },
      connections: http2Connections,
      settingsTimeout: () => dialer.connectTimeout,
      limits: {
        streamWindow,
        windowGrowth,
        maximumHeaderLines: maximumResponseLines,
        maximumHeaderBytes: maximumResponseHeaderBytes,
        maximumRequestHead: maximumHeaderBytes,
      },
      onGoAway: () => onBrokenOff?.(origin),
      onSilence: () => onConnectionLost?.(origin),
    });
  };
}

/** Calls back when the destination or the network ends a connection that we have not ended. */
function whenLost(socket: TLSSocket, onLost: () => void): void {
  let isReported = false;
  const report = (): void => {
    if (!isReported) onLost();
    isReported = true;
  };
  socket.once('end', () => {
    if (!socket.writableEnded && !socket.destroyed) report();
  });
  // Only errors of the system have `syscall`; those with which we destroy a connection have none.
  socket.once('error', (error) => {
    if ('syscall' in error) report();
  });
}
