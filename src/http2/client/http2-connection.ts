import type { TLSSocket } from 'node:tls';
import { errorCode } from '../frames/frame.ts';
import { LeakyBucket } from '../frames/leaky-bucket.ts';
import type { ConnectionInbox } from '../sockets/connection-inbox.ts';
import { noticeSilence } from '../sockets/connection-silence.ts';
import { ClientSession } from './client-session.ts';
import type { ClientRequest } from './client-session-options.ts';
import type { ClientStream, StreamListener } from './client-stream.ts';
import { SettingsTimeoutError } from './request-errors.ts';

export interface Http2ConnectionEvents {
  /** A stream ended, or the server has read what waited for it: there may be room again. */
  onRoom(): void;
  /** The server says that it will end the connection. */
  onGoAway?(): void;
  /** It takes no new streams any more; those that are open may still go on. */
  onDraining(connection: Http2Connection): void;
  onClosed(connection: Http2Connection): void;
}

/**
 * Since the rapid reset attack (CVE-2023-44487) servers end a connection on which too many streams are reset, and
 * with it the watches of clients that reset none. Node's allow 1,000 at once and 33 more per second (nghttp2's
 * `stream_reset_rate_limit`). Ours are counted by the same leaky bucket at half of that, which leaves room for the
 * resets of all streams that are still open when a connection is taken out of use.
 */
const resets = { burst: 500, perSecond: 16 };

/** What one server may make this side hold, and what one request may be. */
export interface ClientLimits {
  /** Bytes that a server may send ahead on one stream. Default 262,144. */
  readonly streamWindow: number;
  /** Lines of all heads of one response together, interim ones included. Default 4,096. */
  readonly maximumHeaderLines: number;
  /** Bytes of the same, and of the trailers. Default 65,536. */
  readonly maximumHeaderBytes: number;
  /** Bytes of the head of a request. Default 1,048,576; less where a server says so. */
  readonly maximumRequestHead: number;
}

export const defaultClientLimits: ClientLimits = {
  streamWindow: 256 * 1024,
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
  maximumRequestHead: 1024 * 1024,
};

/**
 * Bytes of a head that a server is sent which says nothing of how much it takes. To a Node server one line of 66,000
 * bytes is too much (measured; of 65,500 it is not), and it says so with a connection error (RFC 9113 section 4.3),
 * with which the streams of everybody else end. Go's servers name their limit, 1 MiB and some (`maxHeaderListSize` in
 * golang.org/x/net/http2/server.go).
 */
const unannouncedMaximumHead = 64 * 1024;

export interface Http2ConnectionOptions {
  /** Dialled with `inbox.onread`. */
  readonly socket: TLSSocket;
  readonly inbox: ConnectionInbox;
  /** Host and port of the server. */
  readonly authority: string;
  /** Our own ceiling; the server's may be lower. */
  readonly maximumStreams: number;
  readonly limits: ClientLimits;
  readonly events: Http2ConnectionEvents;
}

/** One HTTP/2 connection to a server, and how many streams it carries. */
export class Http2Connection {
  readonly #session: ClientSession;
  readonly #limits: ClientLimits;
  readonly #maximumStreams: number;
  readonly #events: Http2ConnectionEvents;
  /** Rejects when the connection is over. */
  readonly #settingsReceived: Promise<void>;
  readonly #resets = new LeakyBucket(resets);
  /** It takes no new streams, and closes behind the last of those it has. */
  #draining = false;

  constructor(options: Http2ConnectionOptions) {
    const { socket, inbox, authority, maximumStreams, limits, events } = options;
    const { streamWindow, maximumHeaderLines, maximumHeaderBytes } = limits;
    this.#limits = limits;
    this.#maximumStreams = maximumStreams;
    this.#events = events;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#settingsReceived = promise;
    promise.catch(() => {});
    const stopNoticing = noticeSilence({
      bytesRead: () => socket.bytesRead,
      onQuiet: () => this.#askForLife(),
      onDead: () => this.#session.destroy(new Error('the server has fallen silent')),
    });
    this.#session = new ClientSession({
      socket,
      inbox,
      authority,
      streamWindow,
      // All streams together must not be held to the 64 KiB that a connection starts with: one slow reader would
      // starve the others (kubernetes#67902).
      connectionWindow: streamWindow * maximumStreams,
      maximumHeaderLines,
      maximumHeaderBytes,
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
        onClosed: (failure) => {
          stopNoticing();
          reject(failure);
          this.#drain();
          events.onClosed(this);
        },
      },
    });
  }

  /**
   * Waits for the server's settings, without which there is no room: a request that they do not allow would be
   * refused, and an upload cannot be sent again (RFC 9113 section 8.7). They come with the end of the handshake, and
   * with TLS 1.3 are the first sign that our certificate was taken, so that what fails before them has sent nothing.
   *
   * @param timeout milliseconds
   * @throws when they do not come, or the server has gone away meanwhile
   */
  async ready(timeout: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#session.destroy(new SettingsTimeoutError(timeout));
    }, timeout);
    try {
      await this.#settingsReceived;
    } finally {
      clearTimeout(timer);
    }
    if (this.#draining) throw new Error('the server goes away');
  }

  /** Streams that are open now. */
  get streams(): number {
    return this.#session.streams;
  }

  /**
   * Bytes of a head that may be sent, as RFC 9113 section 6.5.2 counts them: never more than we send at all.
   */
  get maximumHeadSize(): number {
    const announced = this.#session.serverSettings?.maxHeaderListSize ?? Number.POSITIVE_INFINITY;
    const taken = announced === Number.POSITIVE_INFINITY ? unannouncedMaximumHead : announced;
    return Math.min(taken, this.#limits.maximumRequestHead);
  }

  /** Whether one more stream may be opened. */
  get hasRoom(): boolean {
    if (this.#draining || !this.#session.isOpen || this.#session.isFull) return false;
    const theirs = this.#session.serverSettings?.maxConcurrentStreams ?? 0;
    return this.streams < Math.min(theirs, this.#maximumStreams);
  }

  /** @throws when the connection takes no more streams, or the request cannot be sent; nothing was sent then. */
  request(request: ClientRequest, listener: StreamListener): ClientStream {
    return this.#session.request(request, listener);
  }

  /** Lets open streams end, then closes. */
  close(): void {
    this.#drain();
    this.#closeIfUnused();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#drain();
    this.#session.destroy(new Error('the connection was given up'));
  }

  /** Whose reset it was cannot be told: that servers' own are counted too costs a connection at worst. */
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

  /** Watches are quiet by nature: whoever lives answers a ping, and its answer is heard like anything else. */
  #askForLife(): void {
    if (this.streams === 0) this.close();
    else this.#session.ping();
  }
}
