import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/**
 * The open connections of a server, and which of them can be ended without taking an answer from anybody. Node's
 * `closeIdleConnections` leaves those that have sent part of a head, and those whose TLS handshake never ends.
 */
export class ServerConnections {
  readonly #isAnswering: (socket: Duplex) => boolean;
  readonly #sockets = new Set<Socket>();
  /** The two ends of each connection whose handshake is finished: Node tells by nothing else which socket it was. */
  readonly #secured = new Set<string>();
  readonly #http1 = new Set<Duplex>();
  readonly #lastRequests = new WeakMap<Duplex, Pick<IncomingMessage, 'complete'>>();
  #ending = false;

  /** @param isAnswering whether a request on this HTTP/1.1 connection has not been answered in full. */
  constructor(isAnswering: (socket: Duplex) => boolean) {
    this.#isAnswering = isAnswering;
  }

  /** A connection as TCP knows it. */
  opened(socket: Socket): void {
    if (this.#ending) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** A connection's handshake is finished. */
  secured(socket: TLSSocket): void {
    const ends = endsOf(socket);
    this.#secured.add(ends);
    if (socket.alpnProtocol !== 'h2') this.#http1.add(socket);
    socket.once('close', () => {
      this.#secured.delete(ends);
      this.#http1.delete(socket);
    });
  }

  /** An HTTP/1.1 request has come; of several that come whole it is enough to tell of the first. */
  asked(socket: Duplex, request: Pick<IncomingMessage, 'complete'>): void {
    this.#lastRequests.set(socket, request);
  }

  /** From now on somebody else ends this HTTP/1.1 connection. */
  handedOver(socket: Duplex): void {
    this.#http1.delete(socket);
  }

  /**
   * Tells every client of HTTP/1.1 to go elsewhere: connections without a request under way end, and answers whose head
   * is still to come say that theirs is the last one.
   */
  sayGoodbye(answerOn: (socket: Duplex) => ServerResponse | undefined): void {
    for (const socket of this.#http1) {
      const answer = answerOn(socket);
      if (answer?.headersSent === false) answer.shouldKeepAlive = false;
    }
    // One that has asked nothing yet may be about to: it is answered, and told then.
    this.endIdle((socket) => this.#lastRequests.has(socket));
  }

  /** Ends what nobody waits on, now and whenever more comes. */
  end(): void {
    this.#ending = true;
    for (const socket of this.#sockets) if (!this.#secured.has(endsOf(socket))) socket.destroy();
    this.endIdle();
  }

  /** Ends the HTTP/1.1 connections that have fallen idle, those with part of a head among them. */
  endIdle(mayEnd: (socket: Duplex) => boolean = () => true): void {
    for (const socket of this.#http1) {
      if (!mayEnd(socket)) continue;
      // An upload whose answer was given early is still being read: a reset would take the answer with it.
      const isUploading = this.#lastRequests.get(socket)?.complete === false;
      if (!this.#isAnswering(socket) && !isUploading) socket.destroy();
    }
  }

  /** Ends everything. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return JSON.stringify([localAddress, localPort, remoteAddress, remotePort]);
}
