import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  type Account,
  type Holder,
  type Holding,
  headMemory,
  resetConnection,
} from '../../../packages/http2/shared.ts';
import { forgetHead } from '../exchange/http1-heads.ts';
import type { UpgradeMemory } from '../upgrades/upgrade.ts';
import type { HeldByKernel } from './held-by-kernel.ts';

/**
 * Lines of heads that Node's parser keeps as long as the connection is open, each until a later head has a line at the
 * same place (`fields_` and `values_` in Node's src/node_http_parser.cc).
 */
const linesInParser = 31;
/** Bytes of such lines that are not counted: clients that do nothing wrong have fewer. */
const uncountedInParser = 32 * 1024;
/** Bytes that are counted for a tunnel that stands still: Node's and OpenSSL's buffers of two connections. The kernel's are beside these. */
const stalledTunnel = 256 * 1024;

/** Knows where on its connection its head and its content have ended, by the bytes that were read when the parser told. */
export class Http1Message extends IncomingMessage {
  readonly headEndedAt: number;
  endedAt: number | undefined;

  constructor(socket: Socket) {
    super(socket);
    this.headEndedAt = socket.bytesRead;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk === null) this.endedAt = this.socket.bytesRead;
    return super.push(chunk, encoding);
  }
}

/** Why a request is not handled: its head is larger than its client may send, or there is no memory for it. */
export type HeadRefusal = 'too large' | 'no memory';

/**
 * Counts what is held for HTTP/1.1 clients. Node tells nothing of an incomplete head, of a client that does not read, or of a
 * tunnel that stands still, so all connections are looked at every now and then.
 */
export class HeldByHttp1 {
  readonly #interval: number;
  readonly #unverifiedHeaderBytes: number;
  readonly #kernel: HeldByKernel;
  readonly #connections = new Map<Duplex, Http1Connection | Tunnel>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param interval milliseconds between two looks
   * @param unverifiedHeaderBytes of one head, for clients that have shown no verified certificate
   * @param kernel is told of the destinations of tunnels
   */
  constructor(interval: number, unverifiedHeaderBytes: number, kernel: HeldByKernel) {
    this.#kernel = kernel;
    this.#interval = interval;
    this.#unverifiedHeaderBytes = unverifiedHeaderBytes;
  }

  /** @param account is closed with the socket */
  opened(socket: TLSSocket, account: Account): void {
    this.#connections.set(socket, new Http1Connection(socket, account));
    socket.once('close', () => this.#closed(socket));
    this.#timer ??= setInterval(() => this.check(), this.#interval).unref();
  }

  #closed(socket: TLSSocket): void {
    this.#connections.delete(socket);
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** @returns where to count what is held for the request */
  begin(message: Http1Message, response: ServerResponse): Holding | HeadRefusal {
    const connection = this.#connections.get(message.socket);
    if (!(connection instanceof Http1Connection)) return 'no memory';
    if (this.#isTooLarge(message, connection.account)) return 'too large';
    return connection.begin(message, response);
  }

  /** The connection is one of HTTP/1.1 no more; its head counts until the server has responded. */
  beginUpgrade(message: IncomingMessage): UpgradeMemory | HeadRefusal {
    const { socket } = message;
    const connection = this.#connections.get(socket);
    if (!(connection instanceof Http1Connection)) return 'no memory';
    const { account } = connection;
    const size = headMemory(message.url ?? '', message.rawHeaders);
    if (this.#isTooLarge(message, account)) return 'too large';
    if (!account.admits(size)) return 'no memory';
    const tunnel = new Tunnel(socket, account, size, this.#kernel);
    connection.becameTunnel();
    this.#connections.set(socket, tunnel);
    return tunnel;
  }

  #isTooLarge({ url = '', rawHeaders }: IncomingMessage, { isVerified }: Account): boolean {
    return !isVerified && headMemory(url, rawHeaders) > this.#unverifiedHeaderBytes;
  }

  check(): void {
    for (const connection of this.#connections.values()) connection.check();
  }
}

class Http1Connection implements Holder {
  readonly account: Account;
  readonly #socket: TLSSocket;
  readonly #ahead: Holding;
  readonly #content: Holding;
  readonly #parser: Holding;
  /** Lengths of the names and values that the parser keeps. */
  readonly #inParser: number[] = [];
  #contentInNode = 0;
  /**
   * Bytes of the connection that belong to messages which the parser has told of. What the same read brought behind them is
   * among these: 64 KiB at most.
   */
  #position: number;
  #message: Http1Message | undefined;
  #response: ServerResponse | undefined;
  #headBytes = 0;
  #written = 0;

  constructor(socket: TLSSocket, account: Account) {
    this.#socket = socket;
    this.account = account;
    this.#position = socket.bytesRead;
    this.#ahead = account.head(this);
    this.#content = account.content(this);
    this.#parser = account.content(this);
  }

  giveUp(): void {
    resetConnection(this.#socket);
  }

  begin(message: Http1Message, response: ServerResponse): Holding | HeadRefusal {
    this.#answered();
    this.#position = message.headEndedAt;
    this.#message = message;
    this.#response = response;
    const size = headMemory(message.url ?? '', message.rawHeaders);
    const isAdmitted = this.account.admits(size);
    this.#countInParser(message);
    if (!isAdmitted) return 'no memory';
    this.#headBytes = size;
    this.account.add(size);
    return this.#content;
  }

  #countInParser({ url = '', rawHeaders }: IncomingMessage): void {
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
    // Within the content of a request nothing else is read. Behind it an incomplete head, or requests sent ahead, begin.
    if (message?.complete === false) this.#position = socket.bytesRead;
    else if (message?.endedAt !== undefined) this.#position = message.endedAt;
    this.#ahead.set(socket.bytesRead - this.#position);
    if (this.#response !== undefined && hasBegun(this.#response)) this.#answered();
    const inNode = (message?.readableLength ?? 0) + socket.writableLength;
    this.#content.add(inNode - this.#contentInNode);
    this.#contentInNode = inNode;
    if (socket.bytesWritten === this.#written) return;
    this.#written = socket.bytesWritten;
    this.#content.progressed();
    // A response that is under way is not cut for lines that its head has left behind: idle connections go first.
    this.#parser.progressed();
  }

  /** Only the part of the head that is needed until the end of the response is kept: a watch may last for hours. */
  #answered(): void {
    if (this.#response === undefined) return;
    this.#response = undefined;
    if (this.#message !== undefined) forgetHead(this.#message);
    this.account.add(-this.#headBytes);
    this.#headBytes = 0;
  }

  becameTunnel(): void {
    this.#answered();
    this.#ahead.end();
    this.#content.end();
    this.#parser.end();
  }
}

class Tunnel implements UpgradeMemory, Holder {
  readonly #client: Duplex;
  readonly #account: Account;
  readonly #stalled: Holding;
  readonly #kernel: HeldByKernel;
  #headBytes: number;
  #destination: Duplex | undefined;

  constructor(client: Duplex, account: Account, headBytes: number, kernel: HeldByKernel) {
    this.#kernel = kernel;
    this.#client = client;
    this.#account = account;
    this.#headBytes = headBytes;
    account.add(headBytes);
    this.#stalled = account.content(this);
  }

  giveUp(): void {
    resetConnection(this.#client);
  }

  headForgotten(): void {
    this.#account.add(-this.#headBytes);
    this.#headBytes = 0;
  }

  tunnelOpened(destination: Duplex): void {
    this.#destination = destination;
    this.#kernel.follow(destination, () => this.#account);
  }

  check(): void {
    const stands = this.#client.writableNeedDrain || this.#destination?.writableNeedDrain === true;
    this.#stalled.set(stands ? stalledTunnel : 0);
  }
}

function hasBegun(response: ServerResponse): boolean {
  return response.headersSent || response.destroyed;
}
