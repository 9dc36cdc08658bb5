import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { statusResponse } from '../../apimachinery/status.ts';
import { errorCode } from '../../runtime/errors.ts';
import { writeLastResponse } from '../exchange/raw-response.ts';
import { connectionBelow } from './server-connections.ts';

/** Why Node's HTTP/1.1 parser refused a request, for the client. */
function explain(code: string): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the header of the request is too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'the request is not valid HTTP';
}

/** RFC 6585 section 5. */
export function headTooLargeResponse(): Response {
  return statusResponse('RequestHeaderFieldsTooLarge', explain('HPE_HEADER_OVERFLOW'));
}

/** Whether bytes came after a request with `Connection: close`: they are ignored (RFC 9112 section 9.6). */
export function isAfterLastRequest(error: Error): boolean {
  return errorCode(error) === 'HPE_CLOSED_CONNECTION';
}

/** Whether the parser refused what a client sent, as opposed to an error of the connection. */
export function isHttpError(error: Error): boolean {
  return errorCode(error).startsWith('HPE_');
}

/** Connections with their last response; the parser reports an error for each further piece of the request. */
const ending = new WeakSet<Duplex>();

/**
 * Responds to invalid HTTP with a 400 Status, or 431, and closes. Ambiguous requests (both Content-Length and
 * Transfer-Encoding, bare LF, folded lines) end here, too.
 *
 * @param current the response in progress on this connection, if there is one
 */
export function respondToClientError(
  error: Error,
  socket: Duplex,
  current: ServerResponse | undefined,
): void {
  if (ending.has(socket)) return;
  const code = errorCode(error);
  const spokeHttp = isHttpError(error) || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // After a failed handshake there is no HTTP, and a second head must not be written into a body.
  const isResponding = current?.headersSent === true && !current.writableFinished;
  // Without a request there is no response: the client could take it for that to its next request.
  const hasSentNothing = socket instanceof Socket && socket.bytesRead === 0;
  if (!spokeHttp || isResponding || hasSentNothing || !socket.writable) {
    socket.destroy();
    return;
  }
  ending.add(socket);
  socket.on('error', () => {});
  const response =
    code === 'HPE_HEADER_OVERFLOW' ? headTooLargeResponse() : statusResponse('BadRequest', explain(code));
  writeLastResponse(socket, response).catch(() => socket.destroy());
}

/** The response of Go's servers, and so of kube-apiserver (net/http, `conn.serve`). */
const response = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Tells a client that speaks HTTP without TLS so, in HTTP: a connection that ends without a word tells it nothing. */
export function refusePlainHttp(error: Error, socket: TLSSocket): void {
  if (errorCode(error) !== 'ERR_SSL_HTTP_REQUEST') return;
  // It is still open then.
  const connection = connectionBelow(socket);
  if (!connection?.writable) return;
  connection.write(response);
  // Not `end`: a client that never ends its half would keep the connection.
  connection.destroySoon();
}
