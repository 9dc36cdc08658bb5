import type { ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { headMemory } from '../../http2/fields/header-fields.ts';
import type { BudgetShare, HeldBytes, Holder, Holding } from '../../http2/sockets/held-bytes.ts';
import type { Http1Message } from './http1-message.ts';

/**
 * Counts what is held for HTTP/1.1 clients. Node tells nothing of an incomplete head or of a client that does not read, so
 * all connections are looked at every now and then: bytes that were read and belong to no request that was handled are an
 * incomplete head, or requests sent ahead.
 */
export class HeldByHttp1 {
  readonly #interval: number;
  /** Oldest first. */
  readonly #connections = new Map<TLSSocket, Http1Connection>();
  #timer: NodeJS.Timeout | undefined;

  /** @param interval milliseconds between two looks */
  constructor(interval: number) {
    this.#interval = interval;
  }

  opened(socket: TLSSocket, share: BudgetShare): void {
    this.#connections.set(socket, new Http1Connection(socket, share));
    socket.once('close', () => this.left(socket));
    this.#timer ??= setInterval(() => this.check(), this.#interval).unref();
  }

  /** The connection was closed, or is none of HTTP/1.1 any more: a tunnel's own back-pressure bounds what it holds. */
  left(socket: TLSSocket): void {
    this.#connections.get(socket)?.end();
    this.#connections.delete(socket);
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * A request is about to be handled.
   * @returns where to count what is held for it; `undefined` if there is no memory for it
   */
  begin(message: Http1Message, response: ServerResponse): HeldBytes | undefined {
    return this.#connections.get(message.socket as TLSSocket)?.begin(message, response);
  }

  check(): void {
    for (const connection of this.#connections.values()) connection.check();
  }
}

class Http1Connection implements Holder {
  readonly #socket: TLSSocket;
  readonly #share: BudgetShare;
  /** An incomplete head, and requests sent ahead. */
  readonly #ahead: Holding;
  readonly #content: Holding;
  /** Bytes of the content that Node holds, when it was looked at last. */
  #contentInNode = 0;
  /** Bytes of the connection before the content of the current request. */
  #position: number;
  #message: Http1Message | undefined;
  #response: ServerResponse | undefined;
  /** Memory of the head of a request without a response. */
  #headBytes = 0;
  #written = 0;

  constructor(socket: TLSSocket, share: BudgetShare) {
    this.#socket = socket;
    this.#share = share;
    this.#position = socket.bytesRead;
    this.#ahead = share.head(this);
    this.#content = share.content(this);
  }

  giveUp(): void {
    this.#socket.destroy();
  }

  begin(message: Http1Message, response: ServerResponse): HeldBytes | undefined {
    this.#answered();
    this.#position += (this.#message?.contentBytes ?? 0) + message.headBytes;
    this.#message = message;
    this.#response = response;
    const size = headMemory(message.url ?? '', message.rawHeaders);
    if (!this.#share.admits(size)) return undefined;
    this.#headBytes = size;
    this.#share.add(size);
    return this.#content;
  }

  check(): void {
    const socket = this.#socket;
    const message = this.#message;
    // Within the content of a request nothing else is read.
    const isBetween = message?.complete !== false;
    const before = this.#position + (message?.contentBytes ?? 0);
    this.#ahead.set(isBetween ? Math.max(0, socket.bytesRead - before) : 0);
    if (this.#response !== undefined && hasBegun(this.#response)) this.#answered();
    const inNode = (message?.readableLength ?? 0) + socket.writableLength;
    this.#content.add(inNode - this.#contentInNode);
    this.#contentInNode = inNode;
    if (socket.bytesWritten === this.#written) return;
    this.#written = socket.bytesWritten;
    this.#content.progressed();
  }

  /** Of the head only what is needed until the end of the response is kept: a watch may last for hours. */
  #answered(): void {
    if (this.#response === undefined) return;
    this.#response = undefined;
    this.#message?.forgetHead();
    this.#share.add(-this.#headBytes);
    this.#headBytes = 0;
  }

  end(): void {
    this.#answered();
    this.#ahead.end();
    this.#content.end();
  }
}

function hasBegun(response: ServerResponse): boolean {
  return response.headersSent || response.destroyed;
}
