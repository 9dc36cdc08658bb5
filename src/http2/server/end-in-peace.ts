import type { Duplex } from 'node:stream';

/**
 * Ends a connection whose last bytes are on their way. What the client still sends has to be read, and thrown away:
 * closed over it, the system would answer with a reset, and throw away with it what the client has not read yet (RFC
 * 9112 section 9.6 has the same of HTTP/1.1). Whoever reads the connection destroys it when the client ends its side.
 * @param patience milliseconds without progress after which a client has had its last bytes, or will never take them;
 *   twice as many at most
 */
export function endInPeace(socket: Duplex, patience: number): void {
  socket.end();
  let left = Number.POSITIVE_INFINITY;
  const looks = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, patience).unref();
  socket.once('close', () => clearInterval(looks));
}
