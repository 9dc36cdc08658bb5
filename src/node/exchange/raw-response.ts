import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';

/** Time for a client to read the last response before its connection ends. */
const lingerMilliseconds = 1_000;

/** Status line and header lines of an HTTP/1.1 response. */
export function responseHead(status: number, statusMessage: string, headers: RawHeaders): Buffer {
  let head = `HTTP/1.1 ${status} ${statusMessage}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}

/** Writes `response` to a socket that was detached from its server, and ends the connection. */
export async function writeLastResponse(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  headers.set('content-length', String(body.length));
  headers.set('connection', 'close');
  socket.write(responseHead(response.status, STATUS_CODES[response.status] ?? '', rawHeadersOf(headers)));
  socket.write(body);
  endAfterResponse(socket);
}

/**
 * Ends a connection after its last response. What the client still sends is read and discarded for a moment: a socket
 * that is closed with unread data sends a TCP reset, on which the client loses the response.
 */
export function endAfterResponse(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
  socket.once('close', () => clearTimeout(timer));
}
