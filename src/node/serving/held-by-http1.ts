import { IncomingMessage, type ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { headMemory } from '../../http2/fields/header-fields.ts';
import type { BudgetShare, Holder, Holding } from '../../http2/sockets/held-bytes.ts';
import { forgetHead } from '../exchange/http1-heads.ts';

/** What frames a chunk besides its length in hexadecimal (RFC 9112 section 7.1). */
const chunkFraming = 4;
const lastChunk = 5;
/** `GET / HTTP/1.1`: two spaces, the version, the line's end; and the empty line behind the head. */
const aroundRequestLine = 14;

/**
 * Lines of heads that Node's parser keeps as long as the connection is open, each until a later head has a line at the
 * same place (`fields_` and `values_` in Node's src/node_http_parser.cc).
 */
const linesInParser = 31;
/** Bytes of such lines that are not counted: clients that do nothing wrong have fewer. */
const uncountedInParser = 32 * 1024;

export class Http1Message extends IncomingMessage {
  #contentBytes = 0;
  #isChunked: boolean | undefined;

  /** Bytes of the head: exact where each line has one space behind its colon, as clients write it. */
  get headBytes(): number {
    const { method = '', url = '', rawHeaders } = this;
    let bytes = method.length + url.length + aroundRequestLine;
    for (const part of rawHeaders) bytes += part.length;
    // Each line has a colon, a space and its end.
    return bytes + 2 * rawHeaders.length;
  }

  get contentBytes(): number {
    return this.#contentBytes;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.#isChunked ??= this.headers['transfer-encoding'] !== undefined;
    if (chunk instanceof Uint8Array) {
      this.#contentBytes += chunk.length;
      if (this.#isChunked) this.#contentBytes += chunk.length.toString(16).length + chunkFraming;
    } else if (chunk === null && this.#isChunked) this.#contentBytes += lastChunk;
    return super.push(chunk, encoding);
  }
}

/**
 * Counts what is held for HTTP/1.1 clients. Node tells nothing of an incomplete head or of a client that does not read, so
 * all connections are looked at every now and then: bytes that were read and belong to no request that was handled are an
 * incomplete head, or requests sent ahead.
 */
export class HeldByHttp1 {
  readonly #interval: number;
  readonly #connections = new Map<TLSSocket, Http1Connection>();
  #timer: NodeJS.Timeout | undefined;

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

  /** @returns where to count what is held for the request; `undefined` if there is no memory for it */
  begin(message: Http1Message, response: ServerResponse): Holding | undefined {
    return this.#connections.get(message.socket as TLSSocket)?.begin(message, response);
  }

  check(): void {
    for (const connection of this.#connections.values()) connection.check();
  }
}

class Http1Connection implements Holder {
  readonly #socket: TLSSocket;
  readonly #share: BudgetShare;
  readonly #ahead: Holding;
  readonly #content: Holding;
  readonly #parser: Holding;
  /** Lengths of the names and values that the parser keeps. */
  readonly #inParser: number[] = [];
  #contentInNode = 0;
  /** Bytes of the connection before the content of the current request. */
  #position: number;
  #message: Http1Message | undefined;
  #response: ServerResponse | undefined;
  #headBytes = 0;
  #written = 0;

  constructor(socket: TLSSocket, share: BudgetShare) {
    this.#socket = socket;
    this.#share = share;
    this.#position = socket.bytesRead;
    this.#ahead = share.head(this);
    this.#content = share.content(this);
    this.#parser = share.content(this);
  }

  giveUp(): void {
    this.#socket.destroy();
  }

  begin(message: Http1Message, response: ServerResponse): Holding | undefined {
    this.#answered();
    this.#position += (this.#message?.contentBytes ?? 0) + message.headBytes;
    this.#message = message;
    this.#response = response;
    const size = headMemory(message.url ?? '', message.rawHeaders);
    const isAdmitted = this.#share.admits(size);
    this.#countInParser(message);
    if (!isAdmitted) return undefined;
    this.#headBytes = size;
    this.#share.add(size);
    return this.#content;
  }

  #countInParser({ url = '', rawHeaders }: Http1Message): void {
    for (let index = 0; index < rawHeaders.length; index++) {
      this.#inParser[index % (2 * linesInParser)] = (rawHeaders[index] as string).length;
    }
    let bytes = url.length;
    for (const length of this.#inParser) bytes += length;
    this.#parser.set(bytes > uncountedInParser ? bytes : 0);
    this.#parser.progressed();
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
    // What flows is not cut for what its head has left behind: idle connections go first.
    this.#parser.progressed();
  }

  /** Of the head only what is needed until the end of the response is kept: a watch may last for hours. */
  #answered(): void {
    if (this.#response === undefined) return;
    this.#response = undefined;
    if (this.#message !== undefined) forgetHead(this.#message);
    this.#share.add(-this.#headBytes);
    this.#headBytes = 0;
  }

  end(): void {
    this.#answered();
    this.#ahead.end();
    this.#content.end();
    this.#parser.end();
  }
}

function hasBegun(response: ServerResponse): boolean {
  return response.headersSent || response.destroyed;
}
