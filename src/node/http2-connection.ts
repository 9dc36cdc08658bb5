import type { TLSSocket } from 'node:tls';
import type { ConnectionInbox } from './connection-inbox.ts';
import { noticeSilence } from './connection-silence.ts';
import { type ClientRequest, ClientSession } from './http2-client/client-session.ts';
import type { ClientStream, StreamListener } from './http2-client/client-stream.ts';
import { errorCode } from './http2-client/frame.ts';
import { maximumHeaderBytes, maximumHeaderLines, streamWindow } from './server-limits.ts';

export interface Http2ConnectionEvents {
  /** A stream ended, or the destination has read what waited for it: there may be room again. */
  onRoom(): void;
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
const maximumResets = 500;
const resetsForgottenPerSecond = 16;

/** One HTTP/2 connection to a destination, and how many streams it carries. */
export class Http2Connection {
  readonly #session: ClientSession;
  readonly #maximumStreams: number;
  readonly #events: Http2ConnectionEvents;
  /** Resolves once the destination's settings are here, or the connection is gone. */
  readonly settingsReceived: Promise<void>;
  /** Streams that were reset, less those that time has forgotten. */
  #resets = 0;
  /** When `#resets` was worked out last: milliseconds of the monotonic clock. */
  #resetsAt = 0;
  /** It takes no new streams, and closes behind the last of those it has. */
  #draining = false;

  /**
   * @param socket dialled with `inbox.onread`
   * @param maximumStreams our own ceiling; the destination's may be lower.
   */
  constructor(
    socket: TLSSocket,
    inbox: ConnectionInbox,
    origin: string,
    maximumStreams: number,
    events: Http2ConnectionEvents,
  ) {
    this.#maximumStreams = maximumStreams;
    this.#events = events;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settingsReceived = promise;
    const stopNoticing = noticeSilence({
      bytesRead: () => socket.bytesRead,
      onQuiet: () => this.#askForLife(),
      onDead: () => this.#session.destroy(new Error('the destination has fallen silent')),
    });
    this.#session = new ClientSession({
      socket,
      inbox,
      authority: new URL(origin).host,
      streamWindow,
      // All streams together must not be held to the 64 KiB that a connection starts with: one slow reader would
      // starve the others (kubernetes#67902).
      connectionWindow: streamWindow * maximumStreams,
      maximumHeaderLines,
      maximumHeaderBytes,
      events: {
        onSettings: resolve,
        onGoAway: () => {
          this.#drain();
          this.#closeIfUnused();
        },
        onStreamClosed: (code) => {
          if (code !== errorCode.noError) this.#countReset();
          if (this.#draining) this.#closeIfUnused();
          events.onRoom();
        },
        onRoom: () => events.onRoom(),
        onClosed: () => {
          stopNoticing();
          resolve();
          this.#drain();
          events.onClosed(this);
        },
      },
    });
  }

  /** Streams that are open now. */
  get streams(): number {
    return this.#session.streams;
  }

  /**
   * Bytes of a head that may be sent, as RFC 9113 section 6.5.2 counts them. Until the destination has said otherwise,
   * as many as we send at all.
   */
  get maximumHeadSize(): number {
    return Math.min(
      this.#session.serverSettings?.maxHeaderListSize ?? maximumHeaderBytes,
      maximumHeaderBytes,
    );
  }

  /** Whether one more stream may be opened. */
  get hasRoom(): boolean {
    if (this.#draining || !this.#session.isOpen || this.#session.isFull) return false;
    const theirs = this.#session.serverSettings?.maxConcurrentStreams ?? this.#maximumStreams;
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

  /** Whose reset it was cannot be told: that destinations' own are counted too costs a connection at worst. */
  #countReset(): void {
    const now = performance.now();
    const forgotten = ((now - this.#resetsAt) / 1_000) * resetsForgottenPerSecond;
    this.#resets = Math.max(0, this.#resets - forgotten) + 1;
    this.#resetsAt = now;
    if (this.#resets >= maximumResets) this.close();
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
