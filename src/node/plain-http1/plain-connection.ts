import type { TLSSocket } from 'node:tls';
import type { DirectLane } from '../../proxy/direct-lane.ts';
import type { NodeInboundOptions } from '../node-inbound.ts';
import { endWhenWritten } from '../raw-answer.ts';
import { PlainInbound, type PlainRequestConnection } from './plain-inbound.ts';
import { PlainRequestReader } from './plain-request.ts';

/** What the connections of one server have in common. */
export interface PlainConnectionHost {
  readonly lane: DirectLane;
  readonly inboundOptions: NodeInboundOptions;
  readonly keepAliveSeconds: number;
  /** Whether answers are to say that theirs is the connection's last. */
  readonly isDraining: boolean;
  /** Looks that have been taken at how long connections have been silent. */
  readonly looks: number;
  /** The first request of a connection is being handled. */
  asked(connection: PlainConnection): void;
  /** It is over. */
  closed(connection: PlainConnection): void;
  /**
   * From now on somebody else reads the connection.
   * @param bytes what was read and not used, the first that comes
   */
  handOver(connection: PlainConnection, bytes: Buffer): void;
  /** An answer could not be written. */
  failed(connection: PlainConnection, error: unknown): void;
}

/** Bytes, and pieces of them, that a client may send before it has its answer; from there on nothing is read. */
const maximumAhead = 64 * 1024;
const maximumPiecesAhead = 100;

/**
 * An HTTP/1.1 connection for as long as plain requests come on it, one after the other. At the first bytes that are
 * not one plain request for the direct lane, whole, the connection is handed over for good, with those bytes.
 */
export class PlainConnection implements PlainRequestConnection {
  readonly socket: TLSSocket;
  readonly #host: PlainConnectionHost;
  /** Whether a request has come. */
  hasAsked = false;
  /** By the host's count of looks, when it last fell silent. */
  silentSince: number;
  readonly #reader = new PlainRequestReader();
  #exchange: PlainInbound | undefined;
  /** What came before the answer was written; joined once, for a client may send byte by byte. */
  #ahead: Buffer[] | undefined;
  #aheadBytes = 0;

  constructor(socket: TLSSocket, host: PlainConnectionHost) {
    this.socket = socket;
    this.#host = host;
    this.silentSince = host.looks;
    socket.on('data', this.#onData);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  /** Whether a request on it has not been answered in full. */
  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  get keepAliveSeconds(): number {
    return this.#host.keepAliveSeconds;
  }

  get isEnding(): boolean {
    return this.#host.isDraining;
  }

  answered(isLast: boolean): void {
    this.#exchange = undefined;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    this.#aheadBytes = 0;
    if (isLast || !this.socket.writable) {
      this.#end();
      return;
    }
    this.silentSince = this.#host.looks;
    if (ahead === undefined) return;
    this.socket.resume();
    this.#read(Buffer.concat(ahead));
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#exchange === undefined) {
      this.#read(bytes);
      return;
    }
    // RFC 9112 section 9.3.2: requests sent ahead of an answer are handled one after the other.
    this.#ahead ??= [];
    this.#ahead.push(bytes);
    this.#aheadBytes += bytes.length;
    if (this.#aheadBytes >= maximumAhead || this.#ahead.length >= maximumPiecesAhead) this.socket.pause();
  };

  readonly #onClose = (): void => {
    this.#host.closed(this);
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.close();
  };

  /** 'close' follows. Node's TLS server listens as well, today; with nobody who does an error would end the process. */
  readonly #onError = (): void => {};

  #read(bytes: Buffer): void {
    const { lane, inboundOptions } = this.#host;
    const request = this.#reader.read(bytes);
    if (request === undefined || !lane.takes(request.target)) {
      this.#leave(bytes);
      return;
    }
    const inbound = new PlainInbound(request, this, inboundOptions);
    this.#exchange = inbound;
    if (!this.hasAsked) {
      this.hasAsked = true;
      this.#host.asked(this);
    }
    // One promise where each `await` more would cost every request.
    lane.handle(inbound).then((response) => {
      if (inbound.awaitsAnswer) inbound.answerWith(response).catch(this.#failed);
    }, this.#failed);
  }

  readonly #failed = (error: unknown): void => this.#host.failed(this, error);

  /** What still comes is read and thrown away: nobody answers it, so nobody may carry it out. */
  #end(): void {
    this.socket.off('data', this.#onData).resume();
    endWhenWritten(this.socket);
  }

  #leave(bytes: Buffer): void {
    const { socket } = this;
    socket.off('data', this.#onData).off('close', this.#onClose).off('error', this.#onError);
    this.#host.handOver(this, bytes);
  }
}
