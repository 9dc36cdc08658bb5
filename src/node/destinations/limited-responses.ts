import type { TLSSocket } from 'node:tls';
import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/destination.ts';

/**
 * Limits for the heads and trailers of a server's response, the same for HTTP/1.1 and HTTP/2. The head and all interim
 * heads (1xx) count together; trailers, which are dropped, count separately. Beyond a limit the client gets a 502, or a
 * response that breaks off after its head.
 */

/** Lines, status lines included. As many as a request may have. */
export const maximumResponseLines = 4_096;

/**
 * Bytes. kube-apiserver's own heads have less than 5 KiB, warnings included; the subresource `proxy` leads to other
 * servers. undici and Node allow 16 KiB, Envoy 60 KiB, Go 10 MiB. With 1 MiB of trailers of one byte each, 20 responses
 * blocked the event loop for five seconds.
 */
export const maximumResponseHeaderBytes = 64 * 1_024;

/** Counts lines and bytes of heads, status lines included, or of trailers. */
export class LineCount {
  #lines = 0;
  #bytes = 0;

  get areTooLarge(): boolean {
    return this.#lines > maximumResponseLines || this.#bytes > maximumResponseHeaderBytes;
  }

  add(lines: RawHeaders): void {
    this.#lines += 1 + lines.length / 2;
    for (const part of lines) this.#bytes += part.length;
  }
}

/** The least bytes that a piece counts as: undici copies an incomplete line with each piece that extends it. */
const leastPiece = 256;

/** The progress of a response on one connection. */
interface Reading {
  /** Bytes since the final head or the last content. */
  withoutContent: number;
}

/** The connection that was read last: undici parses a piece and emits its events before it reads another. */
let lastRead: Reading | undefined;

/**
 * Closes a connection of undici's pool if a response has too much before its head or after its content. undici's own
 * limit (client-h1.js, `trackHeader`) does not stop its parser: each further line of the piece costs a new error with its
 * stack, a third of a second for 128 KiB of short lines. So pieces are counted before undici gets them.
 * `responseProgressed` must be called for each final head, content and end.
 */
export function limitResponses(socket: TLSSocket): TLSSocket {
  const reading: Reading = { withoutContent: 0 };
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    lastRead = reading;
    if (reading.withoutContent > maximumResponseHeaderBytes) {
      socket.destroy(invalidResponse('its head or its trailers are too long'));
      return null;
    }
    const piece: Buffer | null = read(size);
    if (piece !== null) reading.withoutContent += Math.max(piece.length, leastPiece);
    return piece;
  };
  return socket;
}

/** Called by the handler of undici's events. */
export function responseProgressed(): void {
  if (lastRead !== undefined) lastRead.withoutContent = 0;
}

/**
 * Refuses transfer codings other than `chunked`. A parser decodes the chunks only, and the header is dropped: the content
 * would be forwarded still encoded (RFC 9112 section 6.1).
 * @throws {TransportError} `InvalidResponse`
 */
export function refuseOtherCodings(headers: RawHeaders): void {
  const codings = allHeaders(headers, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] ?? 'chunked').trim().toLowerCase() !== 'chunked') {
    throw invalidResponse('it has a Transfer-Encoding other than chunked');
  }
}

export function invalidResponse(reason: string): TransportError {
  return new TransportError('InvalidResponse', `the response is not valid HTTP/1.1: ${reason}`, {
    mayHaveBeenProcessed: true,
  });
}
