import type { TLSSocket } from 'node:tls';
import { maximumAnswerHeaderBytes } from './answer-limits.ts';
import { invalidResponse } from './invalid-response.ts';

/** Bytes that a piece counts as, however short: undici copies a line that is not whole with each piece that adds to it. */
const leastPiece = 256;

/** How far an answer has come on one connection. */
interface Reading {
  /** Bytes since the final head, or the last content. */
  withoutContent: number;
}

/** The connection that was read from last: undici parses a piece, and tells what is in it, before it reads another. */
let lastRead: Reading | undefined;

/**
 * Ends a connection of undici's with an answer that has too much in front of its head or behind its content. undici's own
 * limit (client-h1.js, `trackHeader`) does not stop its parser: of the piece that goes beyond it each line, read to the
 * end, costs a new error with its stack, a third of a second for 128 KiB of short lines. So pieces are counted before it
 * gets them, and its limit is never reached. `contentCame` is to be told of each final head, content and end.
 */
export function limitAnswers(socket: TLSSocket): TLSSocket {
  const reading: Reading = { withoutContent: 0 };
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    lastRead = reading;
    if (reading.withoutContent > maximumAnswerHeaderBytes) {
      socket.destroy(invalidResponse('its head or its trailers are too long'));
      return null;
    }
    const piece: Buffer | null = read(size);
    if (piece !== null) reading.withoutContent += Math.max(piece.length, leastPiece);
    return piece;
  };
  return socket;
}

/** Called by whoever undici tells of an answer. */
export function contentCame(): void {
  if (lastRead !== undefined) lastRead.withoutContent = 0;
}
