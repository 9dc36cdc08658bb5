import type { TLSSocket } from 'node:tls';
import { errorCode } from '../frames/frame.ts';
import { LeakyBucket } from '../frames/leaky-bucket.ts';
import {
  type ClientLimits,
  type ClientRequest,
  ClientSession,
  type ConnectionInbox,
} from './client-session.ts';

import type { ClientStream, StreamListener } from './client-stream.ts';

export interface Http2ConnectionEvents {
  onRoom(): void;
  onGoAway?(): void;
  /** The connection was given up: the server sent nothing on it, no acknowledgement of a PING either. `onClosed` follows. */
  onSilence?(): void;
  onDraining(connection: Http2Connection): void;
  onClosed(connection: Http2Connection): void;
}

/**
 * Since the rapid reset attack (CVE-2023-44487) servers end a connection with too many resets, and with it the watches of
 * other clients. Node's servers allow 1,000 at once and 33 per second (nghttp2's `stream_reset_rate_limit`). We stop using
 * a connection at half of that, which leaves room for the resets of the streams that are still open then.
 */
const resets = { burst: 500, perSecond: 16 };

/**
 * Bytes of a request head for a server that announces no SETTINGS_MAX_HEADER_LIST_SIZE. A Node server rejects a line of
 * 66,000 bytes (measured; it accepts 65,500) with a connection error (RFC 9113 section 4.3), which ends all other streams.
 * Go's servers announce a limit of 1 MiB and some (`maxHeaderListSize` in golang.org/x/net/http2/server.go).
 */
const unannouncedMaximumHead = 64 * 1024;

export interface Http2ConnectionOptions {
  readonly socket: TLSSocket;
  readonly inbox: ConnectionInbox;
  readonly authority: string;
  readonly maximumStreams: number;
  readonly limits: ClientLimits;
  readonly events: Http2ConnectionEvents;
}

export class Http2Connection {
  readonly #session: ClientSession;
  readonly #limits: ClientLimits;
  readonly #maximumStreams: number;
  readonly #events: Http2ConnectionEvents;
  readonly #settingsReceived: Promise<void>;
  readonly #resets = new LeakyBucket(resets);
  #draining = false;

  constructor(options: Http2ConnectionOptions) {
    const { socket, inbox, authority, maximumStreams, limits, events } = options;
    this.#limits = limits;
    this.#maximumStreams = maximumStreams;
    this.#events = events;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#settingsReceived = promise;
    promise.catch(() => {});
    const stopMonitoring = monitorSilence({
      bytesRead: () => socket.bytesRead,
      onQuiet: () => this.#pingOrClose(),
      onDead: () => {
        this.#session.destroy(new Error('the server sent nothing for too long'));
        events.onSilence?.();
      },
    });
    this.#session = new ClientSession({
      socket,
      inbox,
      authority,
      limits,
      // With the initial connection window of 64 KiB one slow reader would starve the others (kubernetes#67902).
      connectionWindow: (limits.windowGrowth?.maximum ?? limits.streamWindow) * maximumStreams,
      events: {
        onSettings: () => {
          resolve();
          events.onRoom();
        },
        onGoAway: () => {
          events.onGoAway?.();
          this.#drain();
          this.#closeIfUnused();
        },
        onStreamClosed: (code) => {
          if (code !== errorCode.noError) this.#countReset();
          if (this.#draining) this.#closeIfUnused();
          events.onRoom();
        },
        onRoom: () => events.onRoom(),
        onClosed: (error) => {
          stopMonitoring();
          reject(error);
          this.#drain();
          events.onClosed(this);
        },
      },
    });
  }

  /**
   * Waits for the server's settings. Before them nothing is sent: a request beyond the server's limits would be refused,
   * and an upload cannot be sent again (RFC 9113 section 8.7). They arrive with the end of the handshake. With TLS 1.3
   * they are the first sign that the server accepted our certificate, so a connection that fails earlier has sent nothing.
   *
   * @param timeout milliseconds
   * @throws if they do not arrive, or the server closes the connection meanwhile
   */
  async ready(timeout: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#session.destroy(
        Object.assign(new Error(`no HTTP/2 settings within ${timeout} ms`), { code: 'ETIMEDOUT' }),
      );
    }, timeout);
    try {
      await this.#settingsReceived;
    } finally {
      clearTimeout(timer);
    }
    if (this.#draining) throw new Error('the server is closing the connection');
  }

  get streams(): number {
    return this.#session.streams;
  }

  /** The largest request head that may be sent, in bytes as RFC 9113 section 6.5.2 counts them. */
  get maximumHeadSize(): number {
    const announced = this.#session.serverSettings?.maxHeaderListSize ?? Number.POSITIVE_INFINITY;
    const accepted = announced === Number.POSITIVE_INFINITY ? unannouncedMaximumHead : announced;
    return Math.min(accepted, this.#limits.maximumRequestHead);
  }

  get hasRoom(): boolean {
    if (this.#draining || !this.#session.isOpen || this.#session.isFull) return false;
    const theirs = this.#session.serverSettings?.maxConcurrentStreams ?? 0;
    return this.streams < Math.min(theirs, this.#maximumStreams);
  }

  request(request: ClientRequest, listener: StreamListener): ClientStream {
    return this.#session.request(request, listener);
  }

  close(): void {
    this.#drain();
    this.#closeIfUnused();
  }

  destroy(): void {
    this.#drain();
    this.#session.destroy(new Error('the connection was destroyed'));
  }

  /** Counts resets of both sides, which cannot be told apart: at worst that costs a connection. */
  #countReset(): void {
    if (!this.#resets.add()) this.close();
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#events.onDraining(this);
  }

  #closeIfUnused(): void {
    if (this.streams === 0) this.#session.end();
  }

  /** A watch may be quiet for long. A live server acknowledges the PING, which counts as received bytes. */
  #pingOrClose(): void {
    if (this.streams === 0) this.close();
    else this.#session.ping();
  }
}

/** Milliseconds between two checks. */
const checkInterval = 15_000;
/** Checks without a byte before the peer is pinged: at least 30 s, as Go's client does. */
const checksUntilQuiet = 2;
const checksUntilDead = 3;

interface SilenceListener {
  bytesRead(): number;
  /** Nothing was received for 30 to 45 seconds: ping the peer, or close the connection. */
  onQuiet(): void;
  onDead(): void;
}

/**
 * Detects a peer that is gone without closing the connection, after a power cut or by a firewall rule. Only received
 * bytes count (Go's `ReadIdleTimeout`). Node's session time-out also restarts with sent bytes: requests to a dead server
 * would keep the connection and its watches for as long as the kernel retransmits (15 minutes). It also resets a timer
 * with each event of a watch; this compares a counter.
 *
 * @returns stops it
 */
export function monitorSilence(listener: SilenceListener): () => void {
  let lastRead = listener.bytesRead();
  let quietChecks = 0;
  const timer = setInterval(() => {
    const read = listener.bytesRead();
    quietChecks = read === lastRead ? quietChecks + 1 : 0;
    lastRead = read;
    if (quietChecks === checksUntilQuiet) listener.onQuiet();
    else if (quietChecks >= checksUntilDead) listener.onDead();
  }, checkInterval);
  timer.unref();
  return () => clearInterval(timer);
}
