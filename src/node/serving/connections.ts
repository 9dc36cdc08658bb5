import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { connectionBelow, networkOf } from '../../../packages/http2/shared.ts';
import type { FailureLog } from '../../runtime/logger.ts';
import type { ServerLimits } from '../exchange/serving-limits.ts';

/** Requests that may wait on one HTTP/1.1 connection; as many as concurrent HTTP/2 streams. */
const maximumWaiting = 100;

interface Pipeline {
  current: ServerResponse;
  last: ServerResponse;
  waiting: number;
  usedAt: number;
}

/**
 * Handles the requests of each HTTP/1.1 connection one after the other, as Go's server does.
 *
 * A client may pipeline requests (RFC 9112 section 9.3.2), and Node emits all of them at once. Then a request after a
 * refused one would be processed although its connection ends, and one connection could have any number of concurrent
 * requests, which the limit of streams prevents in HTTP/2.
 */
export class OneAtATime {
  readonly #pipelines = new WeakMap<Duplex, Pipeline>();

  responseOn(socket: Duplex): ServerResponse | undefined {
    return this.#pipelines.get(socket)?.current;
  }

  /** When its last request began, in milliseconds of `performance.now`. */
  usedAt(socket: Duplex): number | undefined {
    return this.#pipelines.get(socket)?.usedAt;
  }

  lastRequestOn(socket: Duplex): IncomingMessage | undefined {
    return this.#pipelines.get(socket)?.last.req;
  }

  isBusy(socket: Duplex): boolean {
    const pipeline = this.#pipelines.get(socket);
    return pipeline !== undefined && !isOver(pipeline.last);
  }

  /** Calls `handle` after all earlier responses on the connection, if it is still open then. */
  run(incoming: IncomingMessage, outgoing: ServerResponse, handle: () => void): void {
    const { socket } = incoming;
    // After the last response, while the connection is being closed: no response could be sent.
    if (!socket.writable) return;
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      this.#pipelines.set(socket, {
        current: outgoing,
        last: outgoing,
        waiting: 0,
        usedAt: performance.now(),
      });
      handle();
      return;
    }
    const previous = pipeline.last;
    pipeline.last = outgoing;
    pipeline.usedAt = performance.now();
    if (isOver(previous)) {
      pipeline.current = outgoing;
      handle();
      return;
    }
    pipeline.waiting++;
    if (pipeline.waiting > maximumWaiting) {
      socket.destroy();
      return;
    }
    previous.once('close', () => {
      pipeline.waiting--;
      // The connection ended with that response: later requests are not processed.
      if (!socket.writable) return;
      pipeline.current = outgoing;
      handle();
    });
  }
}

function isOver(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed;
}

/**
 * Connections beyond the limit that are taken for health checks: a router that is full is not to be restarted. Of the
 * network that has most of them one makes room for another's.
 */
const keptForProbes = 16;
/** Milliseconds after which a handshake that has not ended makes room for others. */
const handshakeIsLateAfter = 1_000;

function lateHandshake(openedAt: number, now: number): number | undefined {
  return now - openedAt > handshakeIsLateAfter ? openedAt : undefined;
}

type ConnectionLimits = Pick<ServerLimits, 'maxConnections' | 'maxOrdinaryConnections'>;

/**
 * Beyond the limit a connection is closed at once where none can make room: a load balancer then tries another router, and
 * connected clients keep the file descriptors that their requests need.
 */
export function turnedAwayLog(failures: FailureLog): (maximum: number) => void {
  let turnedAway = 0;
  return (maximum) => {
    turnedAway += 1;
    failures.warn(
      'connections',
      { maximum, turnedAway },
      'Connections are refused: give the router more memory, raise the limit of open files (ulimit -n, LimitNOFILE=), or add routers',
    );
  };
}

/**
 * The open connections of a server. Knows which of them can be closed without cutting off a response. Node's
 * `closeIdleConnections` keeps connections with a partial head, and those whose TLS handshake never ends.
 */
export class ServerConnections {
  readonly #pipelines: OneAtATime;
  /** By the socket below; the one that was opened first stands first. */
  readonly #sockets = new Map<Socket, { readonly openedAt: number; secured: TLSSocket | undefined }>();
  readonly #http1 = new Set<Duplex>();
  readonly #tunnels = new Set<Duplex>();
  readonly #limits: ConnectionLimits;
  readonly #restingSince: (socket: TLSSocket) => number | undefined;
  readonly #onTurnedAway: (maximum: number) => void;
  readonly #forProbes = new WeakSet<Duplex>();
  /** Open connections beyond the limit, and the network of each; the one that was opened first stands first. */
  readonly #beyond = new Map<Socket, string>();
  #ending = false;

  /** @param restingSince of a connection of HTTP/2 (`Http2Server`) */
  constructor(
    pipelines: OneAtATime,
    limits: ConnectionLimits,
    restingSince: (socket: TLSSocket) => number | undefined,
    onTurnedAway: (maximum: number) => void,
  ) {
    this.#pipelines = pipelines;
    this.#limits = limits;
    this.#restingSince = restingSince;
    this.#onTurnedAway = onTurnedAway;
  }

  opened(socket: Socket): void {
    if (this.#ending) {
      socket.destroy();
      return;
    }
    const maximum = this.#maximum;
    if (this.#sockets.size >= maximum && !this.#makeRoom()) {
      this.#onTurnedAway(maximum);
      if (!this.#takeForProbe(socket)) {
        socket.destroy();
        return;
      }
    }
    this.#sockets.set(socket, { openedAt: performance.now(), secured: undefined });
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #takeForProbe(socket: Socket): boolean {
    const network = networkOf(socket.remoteAddress ?? '');
    if (this.#beyond.size >= keptForProbes) {
      const byNetwork = Map.groupBy(this.#beyond, ([, each]) => each);
      const [most = []] = [...byNetwork.values()].sort((one, other) => other.length - one.length);
      const [oldest] = most;
      if (oldest === undefined || most.length <= (byNetwork.get(network)?.length ?? 0) + 1) return false;
      this.#beyond.delete(oldest[0]);
      oldest[0].destroy();
    }
    this.#beyond.set(socket, network);
    socket.once('close', () => this.#beyond.delete(socket));
    this.#forProbes.add(socket);
    return true;
  }

  secured(socket: TLSSocket): void {
    const below = connectionBelow(socket);
    const entry = below && this.#sockets.get(below);
    if (entry !== undefined) entry.secured = socket;
    if (below !== undefined && this.#forProbes.has(below)) this.#forProbes.add(socket);
    if (socket.alpnProtocol === 'h2') return;
    this.#http1.add(socket);
    socket.once('close', () => {
      this.#http1.delete(socket);
      this.#tunnels.delete(socket);
    });
  }

  /** @returns true for a connection that was taken beyond the limit, for health checks alone */
  isForProbes(socket: Duplex): boolean {
    return this.#forProbes.has(socket);
  }

  get #maximum(): number {
    const { maxConnections, maxOrdinaryConnections } = this.#limits;
    const mayBeOrdinary = maxOrdinaryConnections || Number.POSITIVE_INFINITY;
    return Math.min(maxConnections || Number.POSITIVE_INFINITY, mayBeOrdinary + this.#tunnels.size);
  }

  /**
   * Ends a connection without a request: one whose handshake is late first, then of clients without a verified certificate, then
   * of the others. Of these the one that was used longest ago: over HTTP/1.1 its last request began then, over HTTP/2 it ended.
   * nginx makes room in the same way when connections run short.
   * @returns false: each connection has a request
   */
  #makeRoom(): boolean {
    let [found, rank, since] = [undefined as Socket | undefined, 3, Number.POSITIVE_INFINITY];
    const now = performance.now();
    for (const [socket, { openedAt, secured }] of this.#sockets) {
      const rests =
        secured === undefined ? lateHandshake(openedAt, now) : this.#restsSince(secured, openedAt);
      if (rests === undefined) continue;
      const ranked = secured === undefined ? 0 : secured.authorized ? 2 : 1;
      if (ranked > rank || (ranked === rank && rests >= since)) continue;
      [found, rank, since] = [socket, ranked, rests];
    }
    if (found === undefined) return false;
    this.#sockets.delete(found);
    found.destroy();
    return true;
  }

  #restsSince(socket: TLSSocket, openedAt: number): number | undefined {
    if (this.#tunnels.has(socket)) return undefined;
    if (socket.alpnProtocol === 'h2') return this.#restingSince(socket);
    return this.#isIdle(socket) ? (this.#pipelines.usedAt(socket) ?? openedAt) : undefined;
  }

  handedOver(socket: Duplex): void {
    this.#http1.delete(socket);
  }

  becameTunnel(socket: Duplex): void {
    this.handedOver(socket);
    this.#tunnels.add(socket);
  }

  /** Responses whose head was not written yet get `Connection: close`. */
  announceClose(): void {
    for (const socket of this.#http1) {
      const response = this.#pipelines.responseOn(socket);
      if (response?.headersSent === false) response.shouldKeepAlive = false;
    }
  }

  end(): void {
    this.#ending = true;
    for (const [socket, { secured }] of this.#sockets) if (secured === undefined) socket.destroy();
    this.endIdle();
  }

  endIdle(): void {
    for (const socket of this.#http1) if (this.#isIdle(socket)) socket.destroy();
  }

  /** After an early response the upload is still read: on a TCP reset the client would lose the response. */
  #isIdle(socket: Duplex): boolean {
    const isUploading = this.#pipelines.lastRequestOn(socket)?.complete === false;
    return !this.#pipelines.isBusy(socket) && !isUploading;
  }

  cut(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }
}
