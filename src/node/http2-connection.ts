import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { noticeSilence } from './connection-silence.ts';
import { maximumHeaderBytes, maximumHeaderLines, streamWindow } from './server-limits.ts';

export interface Http2ConnectionEvents {
  /** A stream ended: there may be room again. */
  onStreamClosed(): void;
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
  readonly #session: ClientHttp2Session;
  /** Host and port of the destination. */
  readonly #authority: string;
  readonly #maximumStreams: number;
  readonly #events: Http2ConnectionEvents;
  /** Resolves once the destination's settings are here, or the connection is gone. */
  readonly settingsReceived: Promise<void>;
  #streams = 0;
  /** Streams that were reset, less those that time has forgotten. */
  #resets = 0;
  /** When `#resets` was worked out last: milliseconds of the monotonic clock. */
  #resetsAt = 0;
  #draining = false;
  #closing = false;

  /** @param maximumStreams our own ceiling; the destination's may be lower. */
  constructor(socket: TLSSocket, origin: string, maximumStreams: number, events: Http2ConnectionEvents) {
    this.#authority = new URL(origin).host;
    this.#maximumStreams = maximumStreams;
    this.#events = events;
    const options: ClientSessionOptions & { readonly strictSingleValueFields: boolean } = {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindow, maxHeaderListSize: maximumHeaderBytes },
      maxSendHeaderBlockLength: maximumHeaderBytes,
      maxHeaderListPairs: maximumHeaderLines,
      // Lines are passed on as they came, also where a name that should stand once stands twice.
      strictSingleValueFields: false,
    };
    this.#session = connect(origin, options);
    // All streams together must not be held to the 64 KiB that a connection starts with: one slow reader would
    // starve the others (kubernetes#67902).
    this.#session.once('connect', () => this.#session.setLocalWindowSize(streamWindow * maximumStreams));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settingsReceived = promise;
    this.#session.once('remoteSettings', () => resolve());
    const stopNoticing = noticeSilence({
      bytesRead: () => socket.bytesRead,
      onQuiet: () => this.#askForLife(),
      onDead: () => this.#session.destroy(new Error('the destination has fallen silent')),
    });
    this.#session.on('goaway', () => this.#drain());
    this.#session.on('error', () => this.#drain());
    this.#session.on('close', () => {
      stopNoticing();
      resolve();
      this.#drain();
      events.onClosed(this);
    });
  }

  /** Streams that are open now. */
  get streams(): number {
    return this.#streams;
  }

  /**
   * Bytes of a head that may be sent, as RFC 9113 section 6.5.2 counts them. Until the destination has said otherwise,
   * as many as we send at all.
   */
  get maximumHeadSize(): number {
    // Not there before the connection is up, whatever its type says.
    const settings: { readonly maxHeaderListSize?: number | undefined } | undefined =
      this.#session.remoteSettings;
    return Math.min(settings?.maxHeaderListSize ?? maximumHeaderBytes, maximumHeaderBytes);
  }

  /** Whether one more stream may be opened. */
  get hasRoom(): boolean {
    if (this.#draining || this.#session.closed || this.#session.destroyed) return false;
    const theirs = this.#session.remoteSettings.maxConcurrentStreams ?? this.#maximumStreams;
    return this.#streams < Math.min(theirs, this.#maximumStreams);
  }

  /** @throws when the session takes no more streams; nothing was sent then. */
  open(method: string, target: string, lines: readonly string[], endStream: boolean): ClientHttp2Stream {
    const pseudoHeaders = [
      ':method',
      method,
      ':path',
      target,
      ':scheme',
      'https',
      ':authority',
      this.#authority,
    ];
    const stream = this.#session.request([...pseudoHeaders, ...lines], { endStream });
    this.#streams++;
    stream.once('close', () => {
      this.#streams--;
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#countReset();
      if (this.#closing && this.#streams === 0) this.#session.close();
      this.#events.onStreamClosed();
    });
    return stream;
  }

  /** Lets open streams end, then closes. */
  close(): void {
    this.#closing = true;
    this.#drain();
    // Closed earlier, Node would refuse a stream whose head it has not written yet.
    if (this.#streams === 0) this.#session.close();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#drain();
    // With NO_ERROR, Node's default, an answer that is cut would pass for a whole one.
    this.#session.destroy(new Error('the connection was given up'), constants.NGHTTP2_CANCEL);
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

  /** Watches are quiet by nature: whoever lives answers a ping, and its answer is heard like anything else. */
  #askForLife(): void {
    if (this.#streams === 0) this.close();
    else if (!this.#session.destroyed) this.#session.ping(() => {});
  }
}
