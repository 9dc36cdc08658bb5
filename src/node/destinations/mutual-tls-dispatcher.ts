import type { OnReadOpts } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Http2Pool } from '../../http2/client/http2-pool.ts';
import { maximumHeaderBytes, streamWindow } from '../exchange/serving-limits.ts';
import type { DispatcherFor } from './destination-dispatchers.ts';
import { http1Pool } from './http1-pool.ts';
import { maximumResponseHeaderBytes, maximumResponseLines } from './limited-responses.ts';
import type { TlsDialer } from './tls-dialer.ts';

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

/** Connections that destinations end. */
export interface ConnectionEvents {
  /** A connection was closed without GOAWAY. */
  onLost(origin: string): void;
  /** A destination sent GOAWAY. */
  onGoAway(origin: string): void;
}

/** Makes dispatchers with connections of `dialer`: HTTP/2 if the destination has it, otherwise undici's HTTP/1.1 pool. */
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
        maximumHeaderLines: maximumResponseLines,
        maximumHeaderBytes: maximumResponseHeaderBytes,
        maximumRequestHead: maximumHeaderBytes,
      },
      onGoAway: () => events.onGoAway(origin),
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
