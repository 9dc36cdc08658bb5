import type { Duplex } from 'node:stream';

/**
 * Ends a connection after its last bytes. Until the client closes its side, the caller must keep reading and discard
 * what it reads: a socket that is closed with unread data sends a TCP reset, on which the client loses what it has not
 * read yet (RFC 9112 section 9.6 says so of HTTP/1.1).
 * @param timeout milliseconds without progress after which the connection is destroyed; twice as many at most
 */
export function lingeringClose(socket: Duplex, timeout: number): void {
  socket.end();
  let left = Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, timeout).unref();
  socket.once('close', () => clearInterval(timer));
}
