import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { statusResponse } from '../../apimachinery/status.ts';
import { writeLastAnswer } from '../exchange/raw-answer.ts';

/** Why Node's HTTP/1.1 parser gave up on a connection, for the client. */
function explain(code: string): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the header of the request is too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'the request is no valid HTTP';
}

/** RFC 6585 section 5. */
export function headTooLargeResponse(): Response {
  return statusResponse('RequestHeaderFieldsTooLarge', explain('HPE_HEADER_OVERFLOW'));
}

/** Whether bytes came behind a request that its client had called the last: they are nobody's (RFC 9112 section 9.6). */
export function isBehindTheLast(error: Error): boolean {
  return codeOf(error) === 'HPE_CLOSED_CONNECTION';
}

/** Whether the parser could not read what a client sent, as opposed to a fault of the connection. */
export function isHttpError(error: Error): boolean {
  return codeOf(error).startsWith('HPE_');
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Connections that have had their last answer; the parser complains about each further piece of the same request. */
const ending = new WeakSet<Duplex>();

/**
 * Answers what is no HTTP with a 400 Status, or 431, and closes. The parser never guesses: requests that two parsers
 * could read differently (both Content-Length and Transfer-Encoding, bare LF, folded lines) end here.
 *
 * @param answer the answer in progress on this connection, if there is one.
 */
export function answerClientError(error: Error, socket: Duplex, answer: ServerResponse | undefined): void {
  if (ending.has(socket)) return;
  const code = codeOf(error);
  const spokeHttp = isHttpError(error) || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // A failed handshake has no HTTP to answer in, and a second head must not end up in the middle of a body.
  const answering = answer?.headersSent === true && !answer.writableFinished;
  // Who has asked nothing is answered nothing: it could be taken for the answer to a request that is on its way.
  const hasAskedNothing = socket instanceof Socket && socket.bytesRead === 0;
  if (!spokeHttp || answering || hasAskedNothing || !socket.writable) {
    socket.destroy();
    return;
  }
  ending.add(socket);
  socket.on('error', () => {});
  const response =
    code === 'HPE_HEADER_OVERFLOW' ? headTooLargeResponse() : statusResponse('BadRequest', explain(code));
  writeLastAnswer(socket, response).catch(() => socket.destroy());
}
