import type { OnReadOpts } from 'node:net';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Dispatcher, errors } from 'undici';
import { errorCode, Http2Error } from '../frames/frame.ts';
import { ClientSession, ConnectionInbox, defaultClientLimits } from './client-session.ts';
import { asError, type ClientLimits, type ClientRequest } from './client-stream.ts';
import { DispatchedRequest, notBegun, type RequestListener } from './dispatched-request.ts';

export interface Http2PoolOptions {
  /**
   * Opens a connection with `tls.connect`, verifies the server, and offers `h2` (`ALPNProtocols`), with `http1` also
   * `http/1.1`. Resolves after the handshake.
   * @param onread must be passed to `tls.connect`: it receives the bytes
   */
  readonly connect: (onread: OnReadOpts) => Promise<TLSSocket>;
  /** Streams on one connection, or fewer if the server says so. Default 100. */
  readonly streamsPerConnection?: number;
  /** Another connection is opened when the least used one has this many streams. Default 32. */
  readonly spreadAt?: number;
  readonly connections?: number;
  /** Milliseconds to wait for the server's SETTINGS. Default 10,000. */
  readonly settingsTimeout?: number;
  readonly limits?: Partial<ClientLimits>;
  /**
   * Makes the dispatcher for a server that only agrees on HTTP/1.1, such as undici's `Pool`. It is used until its first
   * 'connectionError': the server may come back with HTTP/2. Default: such requests fail.
   */
  readonly http1?: () => Dispatcher;
  readonly onGoAway?: (() => void) | undefined;
  readonly onSilence?: (() => void) | undefined;
}

/** A body that can be sent again, and may be complete already. */
export interface RequestBody {
  /**
   * The body, if it is complete already: it is sent in one piece with the head. Once taken, it cannot be read from the
   * stream any more.
   * @returns `undefined` if the stream must be read instead
   */
  takeWhole(): Uint8Array | undefined;
  /**
   * The same body from its first byte on, for a request that the server did not process. Nothing more is read of this one.
   * @returns `undefined` if the bytes were not kept
   */
  again(): Readable | undefined;
}

function isRequestBody(body: object | undefined): body is RequestBody {
  return body !== undefined && 'takeWhole' in body && 'again' in body;
}

/**
 * How often a request is sent again that the server did not process: because it was ending the connection in good order,
 * as Go's client (golang.org/x/net/http2, transport.go) and at once, each time on another connection; for another reason.
 */
const maximumRepeats = { goAway: 6, otherwise: 1 };

/** A request up to the head of its response. */
class PooledRequest implements ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: ClientRequest['headers'];
  content: Uint8Array | Readable | undefined;
  readonly #listener: RequestListener;
  readonly #enqueue: (request: PooledRequest) => void;
  #repeats = 0;

  constructor(
    { method, target, headers, content }: ClientRequest,
    listener: RequestListener,
    enqueue: (request: PooledRequest) => void,
  ) {
    this.method = method;
    this.target = target;
    this.headers = headers;
    this.content = content;
    this.#listener = listener;
    this.#enqueue = enqueue;
  }

  takeContent(): ClientRequest['content'] {
    // Since it was queued more of the body may have arrived.
    if (isRequestBody(this.content)) this.content = this.content.takeWhole() ?? this.content;
    return this.content;
  }

  sendOn(connection: ClientSession): void {
    try {
      connection.request(this, this.#listener);
    } catch (error) {
      this.notSent(error);
    }
  }

  passOnTo(dispatcher: Dispatcher): void {
    this.#listener.passOnTo(dispatcher, this);
  }

  notSent(error: unknown): void {
    if (this.content instanceof Readable) this.content.destroy();
    this.#listener.fail(asError(error), true);
  }

  isSentAgain(error: Error): boolean {
    const isGoAway = error instanceof Http2Error && error.errorCode === errorCode.noError;
    const maximum = isGoAway ? maximumRepeats.goAway : maximumRepeats.otherwise;
    if (this.#repeats >= maximum) return false;
    if (this.content instanceof Readable) {
      const again = isRequestBody(this.content) ? this.content.again() : undefined;
      if (again === undefined) return false;
      this.content = again;
    }
    this.#repeats++;
    this.#enqueue(this);
    return true;
  }
}

/**
 * HTTP/2 connections to one origin, also as an undici `Dispatcher`: it works with `fetch(url, { dispatcher })`,
 * `dispatcher.request(…)`, and undici's interceptors and handlers. A request goes to the connection with the fewest
 * streams; another connection is opened before that one is full. Upgrades and CONNECT are refused.
 */
export class Http2Pool extends Dispatcher {
  readonly #url: URL;
  readonly #authority: string;
  readonly #options: Http2PoolOptions &
    Required<Pick<Http2PoolOptions, 'streamsPerConnection' | 'spreadAt' | 'connections' | 'settingsTimeout'>>;
  readonly #limits: ClientLimits;
  readonly #queue: PooledRequest[] = [];
  #connections: ClientSession[] = [];
  readonly #draining = new Set<ClientSession>();
  #opening: ClientSession | undefined;
  #http1: Dispatcher | undefined;
  /** Earlier ones, which finish their requests. */
  readonly #retiredHttp1 = new Set<Dispatcher>();
  #dialing = false;
  #needsDrain = false;
  #state: 'open' | 'closing' | 'destroyed' = 'open';
  readonly #ended = Promise.withResolvers<void>();

  constructor(origin: string | URL, options: Http2PoolOptions) {
    super();
    const { streamsPerConnection = 100, spreadAt = 32, connections = 256 } = options;
    const { settingsTimeout = 10_000 } = options;
    const url = new URL(origin);
    this.#url = url;
    this.#authority = url.host;
    this.#options = { ...options, streamsPerConnection, spreadAt, connections, settingsTimeout };
    this.#limits = { ...defaultClientLimits, ...options.limits };
  }

  get closed(): boolean {
    return this.#state !== 'open';
  }

  get destroyed(): boolean {
    return this.#state === 'destroyed';
  }

  /** Sends a request of which nothing is copied. What becomes of it is told to the listener, an error as well. */
  submit(request: ClientRequest, listener: RequestListener): void {
    if (this.#state === 'closing') listener.fail(new errors.ClientClosedError(), true);
    else this.#enqueue(new PooledRequest(request, listener, this.#enqueue));
  }

  /** @returns false while requests wait for a connection, until 'drain' */
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    let request: DispatchedRequest;
    try {
      if (this.#state === 'destroyed') throw new errors.ClientDestroyedError();
      if (this.#state === 'closing') throw new errors.ClientClosedError();
      if (options.upgrade || options.method === 'CONNECT') {
        throw new errors.NotSupportedError('HTTP/2 has no upgrades');
      }
      request = new DispatchedRequest(options, handler);
    } catch (error) {
      if (handler.onResponseError === undefined) throw error;
      handler.onResponseError(notBegun, asError(error));
      return false;
    }
    this.submit(request, request);
    this.#needsDrain = this.#queue.length > 0;
    return !this.#needsDrain;
  }

  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | undefined {
    if (this.#state === 'open') {
      this.#state = 'closing';
      this.#closeConnections();
    }
    return this.#whenEnded(callback);
  }

  override destroy(error?: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override destroy(...given: readonly unknown[]): Promise<void> | undefined {
    const error = given[0] instanceof Error ? given[0] : new errors.ClientDestroyedError();
    this.#state = 'destroyed';
    const opening = this.#opening === undefined ? [] : [this.#opening];
    const destroyed = new Error('the connection was destroyed');
    for (const each of [...this.#connections, ...this.#draining, ...opening]) each.destroy(destroyed);
    this.#retireHttp1();
    for (const dispatcher of this.#retiredHttp1) dispatcher.destroy(error).catch(() => {});
    for (const request of this.#queue.splice(0)) request.notSent(error);
    this.#endIfEmpty();
    return this.#whenEnded(given.find((each) => typeof each === 'function') as (() => void) | undefined);
  }

  #whenEnded(callback: (() => void) | undefined): Promise<void> | undefined {
    if (callback === undefined) return this.#ended.promise;
    this.#ended.promise.then(callback);
    return undefined;
  }

  #closeConnections(): void {
    for (const connection of [...this.#connections]) connection.close();
    if (this.#queue.length === 0 && !this.#dialing) this.#retireHttp1();
    this.#endIfEmpty();
  }

  #endIfEmpty(): void {
    if (this.#state === 'open' || this.#queue.length > 0 || this.#dialing) return;
    if (this.#connections.length > 0 || this.#draining.size > 0 || this.#opening !== undefined) return;
    if (this.#http1 === undefined && this.#retiredHttp1.size === 0) this.#ended.resolve();
  }

  readonly #enqueue = (request: PooledRequest): void => {
    if (this.#state === 'destroyed') {
      request.notSent(new errors.ClientDestroyedError());
      return;
    }
    if (this.#queue.length > 0) {
      this.#queue.push(request);
      this.#serveQueue();
      return;
    }
    if (!this.#sendNow(request)) this.#queue.push(request);
    this.#dialIfNeeded();
  };

  readonly #serveQueue = (): void => {
    if (this.#queue.length === 0 && !this.#needsDrain) return;
    let next = this.#queue.shift();
    while (next !== undefined && this.#sendNow(next)) next = this.#queue.shift();
    if (next !== undefined) this.#queue.unshift(next);
    else if (this.#needsDrain) {
      this.#needsDrain = false;
      this.emit('drain', this.#url);
    }
    this.#dialIfNeeded();
  };

  #sendNow(request: PooledRequest): boolean {
    if (this.#http1 !== undefined) {
      request.passOnTo(this.#http1);
      return true;
    }
    const connection = this.#leastUsed();
    if (connection === undefined) return false;
    request.sendOn(connection);
    return true;
  }

  #leastUsed(): ClientSession | undefined {
    let best: ClientSession | undefined;
    for (const connection of this.#connections) {
      if (connection.hasRoom && (best === undefined || connection.streams < best.streams)) best = connection;
    }
    return best;
  }

  /** Also before the least used connection is full. */
  #dialIfNeeded(): void {
    const streams = this.#queue.length > 0 ? undefined : this.#leastUsed()?.streams;
    if (this.#queue.length > 0 || (this.#state === 'open' && (streams ?? 0) >= this.#options.spreadAt))
      this.#dial();
  }

  /** One dial at a time: it shows which protocol the server speaks. */
  #dial(): void {
    if (this.#dialing || this.#state === 'destroyed' || this.#http1 !== undefined) return;
    if (this.#connections.length >= this.#options.connections) return;
    this.#dialing = true;
    this.#open()
      .then(
        () => {
          this.#dialing = false;
          this.#serveQueue();
        },
        (error: unknown) => {
          this.#dialing = false;
          // Also while there are connections: they are full, and may be so for hours. Another server can be asked.
          for (const request of this.#queue.splice(0)) request.notSent(error);
          // Tells who waits for 'drain' that nothing is queued any more.
          this.#serveQueue();
        },
      )
      .then(() => {
        if (this.#state !== 'open') this.#closeConnections();
      });
  }

  async #open(): Promise<void> {
    const inbox = new ConnectionInbox();
    const socket = await this.#options.connect(inbox.onread);
    if (this.#state !== 'destroyed' && socket.alpnProtocol === 'h2') {
      await this.#openHttp2(socket, inbox);
      return;
    }
    if (this.#state === 'destroyed') {
      socket.destroy();
      return;
    }
    // This connection is closed, and another one speaks HTTP/1.1. Not at once: the end of the handshake is still to be written.
    socket.destroySoon();
    const { http1 } = this.#options;
    if (http1 === undefined) throw new Error('the server did not agree on HTTP/2 (ALPN)');
    const dispatcher = http1();
    dispatcher.on('connectionError', () => {
      // The server may come back with HTTP/2: negotiate again for the next request.
      if (this.#http1 === dispatcher) this.#retireHttp1();
    });
    this.#http1 = dispatcher;
  }

  #retireHttp1(): void {
    const dispatcher = this.#http1;
    if (dispatcher === undefined) return;
    this.#http1 = undefined;
    this.#retiredHttp1.add(dispatcher);
    const forget = (): void => {
      this.#retiredHttp1.delete(dispatcher);
      this.#endIfEmpty();
    };
    dispatcher.close().then(forget, forget);
  }

  async #openHttp2(socket: TLSSocket, inbox: ConnectionInbox): Promise<void> {
    const connection = new ClientSession({
      ...{ socket, inbox, authority: this.#authority, limits: this.#limits },
      maximumStreams: this.#options.streamsPerConnection,
      events: {
        onRoom: this.#serveQueue,
        onGoAway: () => this.#options.onGoAway?.(),
        onSilence: () => this.#options.onSilence?.(),
        onDraining: (gone) => {
          this.#connections = this.#connections.filter((other) => other !== gone);
          this.#draining.add(gone);
          this.#serveQueue();
        },
        onClosed: (gone) => {
          this.#draining.delete(gone);
          this.#endIfEmpty();
        },
      },
    });
    this.#opening = connection;
    try {
      await connection.ready(this.#options.settingsTimeout);
    } finally {
      this.#opening = undefined;
    }
    this.#connections.push(connection);
  }
}
