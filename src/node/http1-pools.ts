import type { TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import { limitAnswers } from './limited-answers.ts';
import { maximumHeaderBytes } from './server-limits.ts';

export interface Http1PoolsOptions {
  readonly origin: string;
  /** At a time; a watch holds one for itself. */
  readonly connections: number;
  /** Milliseconds an idle connection is kept. */
  readonly keepAliveTimeout: number;
  /** A connection on which HTTP/1.1 was agreed. */
  readonly connect: () => Promise<TLSSocket>;
}

/** The HTTP/1.1 connections to a destination that speaks no HTTP/2; those of before go on until they are through. */
export class Http1Pools {
  readonly #options: Http1PoolsOptions;
  readonly #retired = new Set<Pool>();
  #pool: Pool | undefined;
  /** What ALPN agreed on for a connection that the pool has not asked for yet. */
  #spareSocket: TLSSocket | undefined;

  constructor(options: Http1PoolsOptions) {
    this.#options = options;
  }

  /** The one in use, while the destination is known to speak HTTP/1.1. */
  get pool(): Pool | undefined {
    return this.#pool;
  }

  /** Whether no connection is left, and none is needed. */
  get isEmpty(): boolean {
    return this.#pool === undefined && this.#retired.size === 0;
  }

  /** @param socket on which HTTP/1.1 was agreed: the pool's first connection */
  open(socket: TLSSocket): void {
    this.#spareSocket = socket;
    const { origin, connections, keepAliveTimeout, connect } = this.#options;
    const pool = new Pool(origin, {
      connections,
      // One request at a time on a connection: pipelined, a watch would hold up all that follow.
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout,
      maxHeaderSize: maximumHeaderBytes,
      // undici's own connector takes the TLS name from the request's Host; ours is pinned to the destination.
      connect: (_options, callback) => {
        const spare = this.#takeSpareSocket();
        // Never at once: undici does not send what waits for a connection that is there before it returns.
        const connected = spare === undefined ? connect() : Promise.resolve(spare);
        connected.then(
          (socket) => callback(null, limitAnswers(socket)),
          (error: Error) => callback(error, null),
        );
      },
    });
    pool.on('connectionError', () => {
      // It may come back as another version that speaks HTTP/2: ask again at the next request.
      if (this.#pool === pool) this.retire();
    });
    this.#pool = pool;
  }

  /** Takes the pool out of use; what it carries goes on to its end. */
  retire(): void {
    const pool = this.#pool;
    if (pool === undefined) return;
    this.#pool = undefined;
    // The pool never knew of it, and would leave it open.
    this.#takeSpareSocket()?.destroy();
    this.#retired.add(pool);
    const forget = (): boolean => this.#retired.delete(pool);
    // Closing fails only for a pool that was destroyed meanwhile.
    pool.close().then(forget, forget);
  }

  /** Ends everything at once. */
  destroy(): void {
    this.retire();
    for (const pool of this.#retired) pool.destroy().catch(() => {});
  }

  #takeSpareSocket(): TLSSocket | undefined {
    const socket = this.#spareSocket;
    this.#spareSocket = undefined;
    return socket?.destroyed === false ? socket : undefined;
  }
}
