import type { OnReadOpts, Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { HeaderLines } from '../fields/header-fields.ts';
import type { WindowGrowth } from '../frames/flow-window.ts';

export interface ClientSessionEvents {
  /** The server's settings were received, or changed. */
  onSettings(): void;
  /** The server takes no new streams (RFC 9113 section 6.8). */
  onGoAway(): void;
  /** A stream was closed on the connection. @param code RFC 9113 section 7 */
  onStreamClosed(code: number): void;
  /** The server reads again: requests can be sent. */
  onRoom(): void;
  /** @param error with which the remaining streams failed */
  onClosed(error: Error): void;
}

/** A socket of node:net or node:tls. */
export interface SessionSocket extends Duplex {
  destroySoon(): void;
}

/** Limits for what one server may send, and for one request. */
export interface ClientLimits {
  /** Flow-control window of one stream at its begin, in bytes. Default 65,536. */
  readonly streamWindow: number;
  /** How far it grows while its content is taken quickly. Default: to 262,144 bytes. */
  readonly windowGrowth?: WindowGrowth;
  /** Lines of all heads of one response together, interim ones included. Default 4,096. */
  readonly maximumHeaderLines: number;
  /** Bytes of the same, and of trailers. Default 65,536. */
  readonly maximumHeaderBytes: number;
  /** Bytes of the head of a request. Default 1,048,576, or what the server announces if that is less. */
  readonly maximumRequestHead: number;
}

export const defaultClientLimits: ClientLimits = {
  streamWindow: 64 * 1024,
  windowGrowth: { maximum: 256 * 1024, hasRoomFor: () => true },
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
  maximumRequestHead: 1024 * 1024,
};

export interface ClientSessionOptions {
  /** Dialled with `inbox.onread`, for this session only. */
  readonly socket: SessionSocket;
  readonly inbox: ConnectionInbox;
  /** Host and port of the server. */
  readonly authority: string;
  /** `maximumRequestHead` is the caller's to check. */
  readonly limits: Omit<ClientLimits, 'maximumRequestHead'>;
  /** Flow-control window of the connection, in bytes. */
  readonly connectionWindow: number;
  readonly events: ClientSessionEvents;
}

export interface ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  /** A whole short body, or a stream that is read as fast as the server takes it. */
  readonly content: Uint8Array | Readable | undefined;
}

/** Node reads 64 KiB at most at a time. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Receives the bytes of one connection. All connections share one buffer: its bytes are handled or copied before anything
 * else is read.
 */
export class ConnectionInbox {
  #take: (bytes: Buffer) => boolean = () => true;

  /** The option of `node:net`. */
  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => this.#take(readBuffer.subarray(0, length)),
  };

  /** @param take is called with bytes that are overwritten as soon as it returns */
  take(take: (bytes: Buffer) => void): void {
    this.#take = (bytes) => {
      take(bytes);
      return true;
    };
  }

  /** Makes the socket an ordinary stream again, for a library that reads it as one. */
  leaveTo(socket: Socket): void {
    // `push` returns false if the stream is full; its next read starts the socket again.
    this.#take = (bytes) => socket.push(Buffer.from(bytes));
  }
}
