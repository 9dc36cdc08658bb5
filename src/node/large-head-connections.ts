import type { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { Http2Error } from '../http2/frames/http2-error.ts';
import { ConnectionInbox } from '../http2/sockets/connection-inbox.ts';
import { type OutboundRequest, TransportError } from '../proxy/transport.ts';
import type { Exchange } from './exchange.ts';
import { headTooLarge } from './head-size.ts';
import { exchangeOverHttp1 } from './http1-exchange.ts';
import { Http2Connection } from './http2-connection.ts';
import { exchangeOverHttp2, type OpenStream } from './http2-exchange.ts';
import { limitAnswers } from './limited-answers.ts';
import type { RequestBody } from './request-body.ts';
import { maximumHeaderBytes } from './server-limits.ts';

export interface LargeHeadRequest {
  readonly outbound: OutboundRequest;
  readonly body: RequestBody | undefined;
  readonly exchange: Exchange;
  /** Bytes, from `headSize`. */
  readonly headSize: number;
}

interface Opened {
  readonly socket: TLSSocket;
  /** Of HTTP/2. */
  readonly inbox?: ConnectionInbox;
}

export interface LargeHeadOptions {
  readonly origin: string;
  /** @param inbox where the bytes go, of HTTP/2 */
  readonly connect: (protocol: 'h2' | 'http/1.1', inbox?: ConnectionInbox) => Promise<TLSSocket>;
  /** Milliseconds that the destination's HTTP/2 settings may take; asked each time. */
  readonly settingsTimeout: () => number;
}

/**
 * A connection for each request whose head is too large for a shared one: how much of it a server takes nobody says
 * beforehand, and a server that has had enough may end the connection. HTTP/1.1 first, where such a head costs a 431;
 * HTTP/2 to a destination that speaks nothing else.
 */
export class LargeHeadConnections {
  readonly #options: LargeHeadOptions;
  readonly #clients = new Set<Client>();
  readonly #http2 = new Set<Http2Connection>();
  #dialing = 0;
  #speaksHttp1 = true;
  #destroyed = false;

  constructor(options: LargeHeadOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#dialing === 0 && this.#clients.size === 0 && this.#http2.size === 0;
  }

  send(request: LargeHeadRequest): void {
    this.#dialing++;
    this.#open()
      .then((opened) => this.#carry(opened, request))
      .catch((error: unknown) => request.exchange.fail(error))
      .finally(() => this.#dialing--);
  }

  /** Ends everything at once. Otherwise each connection ends with its request. */
  destroy(): void {
    this.#destroyed = true;
    for (const client of this.#clients) client.destroy().catch(() => {});
    for (const connection of this.#http2) connection.destroy();
  }

  async #open(): Promise<Opened> {
    const { connect } = this.#options;
    if (this.#speaksHttp1) {
      try {
        return { socket: await connect('http/1.1') };
      } catch (error) {
        if (!isProtocolRefused(error)) throw error;
        this.#speaksHttp1 = false;
      }
    }
    const inbox = new ConnectionInbox();
    return { socket: await connect('h2', inbox), inbox };
  }

  async #carry({ socket, inbox }: Opened, request: LargeHeadRequest): Promise<void> {
    const { exchange } = request;
    if (this.#destroyed || exchange.isOver) {
      socket.destroy();
      exchange.fail(new Error('the transport was closed'));
    } else if (inbox !== undefined) {
      await this.#carryOverHttp2(socket, inbox, request);
    } else {
      this.#carryOverHttp1(socket, request);
    }
  }

  #carryOverHttp1(socket: TLSSocket, { outbound, body, exchange }: LargeHeadRequest): void {
    let unused: TLSSocket | undefined = socket;
    const client = new Client(this.#options.origin, {
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      maxHeaderSize: maximumHeaderBytes,
      connect: (_options, callback) => {
        const connected = unused;
        unused = undefined;
        // Never at once: undici does not send what waits for a connection that is there before it returns.
        queueMicrotask(() => {
          if (connected === undefined) callback(new Error('the connection was closed'), null);
          else callback(null, limitAnswers(connected));
        });
      },
    });
    this.#clients.add(client);
    exchangeOverHttp1(client, outbound, body, exchange);
    const forget = (): void => {
      this.#clients.delete(client);
      unused?.destroy();
    };
    // Once its request has ended; it fails only for a client that was destroyed meanwhile.
    client.close().then(forget, forget);
  }

  async #carryOverHttp2(socket: TLSSocket, inbox: ConnectionInbox, request: LargeHeadRequest): Promise<void> {
    const { outbound, body, exchange, headSize } = request;
    const { origin, settingsTimeout } = this.#options;
    const connection = new Http2Connection({
      ...{ socket, inbox, origin, maximumStreams: 1 },
      events: {
        onRoom: () => {},
        onDraining: () => {},
        onClosed: (closed) => this.#http2.delete(closed),
      },
    });
    this.#http2.add(connection);
    try {
      // Its settings say how much it takes.
      await connection.ready(settingsTimeout());
      if (exchange.isOver || !connection.hasRoom) exchange.fail(new Error('the connection was closed'));
      else if (headSize > connection.maximumHeadSize) exchange.fail(headTooLarge(origin, headSize));
      else {
        const open: OpenStream = (opened, listener) =>
          connection.request(opened, {
            ...listener,
            fail: (error, refused) => {
              // It ended the connection, on which there is nothing but this head.
              if (isEndedByServer(error)) exchange.fail(headTooLarge(origin, headSize, true, error));
              else listener.fail(error, refused);
            },
          });
        const onRefused = (): void => exchange.fail(new Error('the stream was refused'), true);
        exchangeOverHttp2(open, outbound, body, exchange, onRefused);
      }
    } finally {
      connection.close();
    }
  }
}

/** The destination speaks no protocol that was offered (RFC 7301 section 3.2). */
function isProtocolRefused(error: unknown): boolean {
  if (!(error instanceof TransportError)) return false;
  return codeOf(error.cause) === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';
}

/** A GOAWAY with an error code: this connection's streams have failed, whatever each of them was (RFC 9113 section 5.4.1). */
function isEndedByServer(error: Error): boolean {
  return error instanceof Http2Error && error.scope === 'connection' && !error.isInvalidAnswer;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
