import type { OnReadOpts } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Http2Pool } from '../../http2/client/http2-pool.ts';
import { maximumHeaderBytes, streamWindow } from '../exchange/serving-limits.ts';
import { maximumAnswerHeaderBytes, maximumAnswerLines } from './answer-limits.ts';
import type { DispatcherFor } from './destination-dispatchers.ts';
import { http1Pool } from './http1-pool.ts';
import type { TlsDialer } from './tls-dialer.ts';

export interface ConnectionLimits {
  /** HTTP/2 streams on one connection. kube-apiserver takes 100 to 250, depending on its version. */
  readonly streamsPerConnection: number;
  /** Streams on the least used HTTP/2 connection from which on another one is opened. */
  readonly spreadAt: number;
  /** HTTP/2 connections to one destination. */
  readonly http2Connections: number;
  /** HTTP/1.1 connections to one destination that speaks no HTTP/2; a watch holds one for itself. */
  readonly http1Connections: number;
  /** Milliseconds an idle HTTP/1.1 connection is kept; less than servers keep it, so that they do not close first. */
  readonly keepAliveTimeout: number;
}

const defaultLimits: ConnectionLimits = {
  streamsPerConnection: 100,
  spreadAt: 32,
  http2Connections: 256,
  http1Connections: 4_096,
  keepAliveTimeout: 30_000,
};

/** What destinations do with their connections. */
export interface ConnectionEvents {
  /** One has ended a connection without a word. */
  onLost(origin: string): void;
  /** One says that it will end a connection. */
  onGoAway(origin: string): void;
}

/** Makes dispatchers over connections of `dialer`: HTTP/2 where the destination speaks it, else undici's HTTP/1.1 pool. */
export function mutualTlsDispatchers(
  dialer: TlsDialer,
  limits: Partial<ConnectionLimits>,
  events: ConnectionEvents,
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
      whenLost(socket, () => events.onLost(origin));
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
        maximumHeaderLines: maximumAnswerLines,
        maximumHeaderBytes: maximumAnswerHeaderBytes,
        maximumRequestHead: maximumHeaderBytes,
      },
      onGoAway: () => events.onGoAway(origin),
    });
  };
}

/** Calls back when the other side ends a connection that this side has not ended, or the network does. */
function whenLost(socket: TLSSocket, onLost: () => void): void {
  let isTold = false;
  const tell = (): void => {
    if (!isTold) onLost();
    isTold = true;
  };
  socket.once('end', () => {
    if (!socket.writableEnded && !socket.destroyed) tell();
  });
  // The system's errors name the call that failed; what this side destroys a connection with does not.
  socket.once('error', (error) => {
    if ('syscall' in error) tell();
  });
}
