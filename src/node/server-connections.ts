import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** How long a client has, after a GOAWAY on an idle connection, to close it. */
const goodbyeMilliseconds = 1_000;

/** Looks at idle HTTP/2 connections in the time that one may be idle. */
const sweepsUntilIdle = 4;

/** An HTTP/2 connection. */
export interface Http2ServerConnection {
  /** Takes no new requests, says so to the client, and ends behind those that are under way. */
  close(): void;
  /** Ends everything at once. */
  destroy(): void;
}

/** One HTTP/2 connection, and how many streams are open on it. */
interface SessionUse {
  streams: number;
  /** By the sweep's count, when it last had a stream. */
  usedAt: number;
  readonly streamClosed: () => void;
  goodbye(): void;
}

const nothing = (): void => {};

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
  readonly #sessions = new Map<Http2ServerConnection, SessionUse>();
  /** Of idle HTTP/2 connections; runs while there is one of any kind. */
  #sweeper: NodeJS.Timeout | undefined;
  #sweeps = 0;
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
   * An HTTP/2 connection; `sessionClosed` is to follow. Quiet streams (watches) count as use. A time-out of its own
   * would be set anew with every frame, which each event of a watch would pay for.
   * @param idleMilliseconds after which it is ended, or a quarter more; the same for all.
   */
  sessionOpened(session: Http2ServerConnection, idleMilliseconds: number): void {
    const use: SessionUse = {
      streams: 0,
      usedAt: this.#sweeps,
      streamClosed: () => {
        use.streams--;
        use.usedAt = this.#sweeps;
      },
      goodbye() {
        session.close();
        // It waits for a head that has begun and never ends (Slowloris), which no stream stands for yet.
        setTimeout(() => {
          if (use.streams === 0) session.destroy();
        }, goodbyeMilliseconds).unref();
      },
    };
    this.#sessions.set(session, use);
    this.#sweeper ??= setInterval(() => this.#sweep(), idleMilliseconds / sweepsUntilIdle).unref();
    if (this.#ending) use.goodbye();
  }

  #sweep(): void {
    this.#sweeps++;
    for (const use of this.#sessions.values()) {
      if (use.streams === 0 && this.#sweeps - use.usedAt === sweepsUntilIdle + 1) use.goodbye();
    }
  }

  sessionClosed(session: Http2ServerConnection): void {
    this.#sessions.delete(session);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** A stream of an HTTP/2 connection, unless that is over. @returns what is to be called when it is closed. */
  streamOpened(session: Http2ServerConnection): () => void {
    const use = this.#sessions.get(session);
    if (use === undefined) return nothing;
    use.streams++;
    return use.streamClosed;
  }

  /**
   * Tells every client to go elsewhere: connections without a request under way end, HTTP/2 ones get a GOAWAY, and
   * HTTP/1.1 answers whose head is still to come say that theirs is the last one.
   */
  sayGoodbye(answerOn: (socket: Duplex) => ServerResponse | undefined): void {
    for (const use of this.#sessions.values()) use.goodbye();
    for (const socket of this.#http1) {
      const answer = answerOn(socket);
      if (answer?.headersSent === false) answer.shouldKeepAlive = false;
    }
    // One that has asked nothing yet may be about to: it is answered, and told then.
    this.endIdle((socket) => this.#lastRequests.has(socket));
  }

  /** Ends what nobody waits on, now and whenever more comes; HTTP/2 clients are told to go elsewhere. */
  end(): void {
    this.#ending = true;
    for (const socket of this.#sockets) if (!this.#secured.has(endsOf(socket))) socket.destroy();
    for (const use of this.#sessions.values()) use.goodbye();
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
