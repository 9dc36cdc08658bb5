import { STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';

/** Milliseconds that a client has for reading a last answer before its connection ends. */
const lingerMilliseconds = 1_000;

/** Status line and header lines of an HTTP/1.1 answer, as bytes. */
export function answerHead(status: number, statusMessage: string, headers: RawHeaders): Buffer {
  let head = `HTTP/1.1 ${status} ${statusMessage}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}

/** Writes `response` on a socket that no server looks after any more, and ends the connection. */
export async function writeLastAnswer(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  headers.set('content-length', String(body.length));
  headers.set('connection', 'close');
  socket.write(answerHead(response.status, STATUS_CODES[response.status] ?? '', rawHeadersOf(headers)));
  socket.write(body);
  endAfterAnswer(socket);
}

/**
 * Ends a connection whose last bytes are an answer. What the client still sends is read and thrown away for a
 * moment: closing over unread bytes would reset the connection, and the answer with it.
 */
export function endAfterAnswer(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
  socket.once('close', () => clearTimeout(timer));
}

/** Ends a connection as soon as what was written to it is out. */
export function endWhenWritten(socket: Duplex): void {
  if (socket instanceof Socket) socket.destroySoon();
  else socket.end();
}
