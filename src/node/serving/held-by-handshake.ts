import type { TLSSocket } from 'node:tls';
import { type Account, connectionBelow } from '../../../packages/http2/shared.ts';

/** Bytes of a handshake that are not counted: more than any authority's certificates take, and what a record may still lack. */
const uncounted = 16 * 1024;
/** Bytes that OpenSSL keeps for each byte of certificates (measured: a mebibyte for 82 KB). */
const keptForEach = 12;
/** Milliseconds after which what came behind the handshake has been read. */
const readAfter = 100;
/** Content of so many bytes may come in records that have one byte more. */
const contentForOverhead = 16;

/**
 * Counts the certificates that a client has sent, verified or not. OpenSSL takes 100 KB of them, those that have nothing to do
 * with a verified one as well, and keeps all until the connection ends; Node has no switch for SSL_CTX_set_max_cert_list.
 * To look at them would keep them for longer still, so what was received and is no content is taken for them.
 * @param account for this connection, closed with it; made only where there is something to count
 */
export function countHandshake(socket: TLSSocket, account: () => Account): void {
  const connection = connectionBelow(socket);
  if (connection === undefined || connection.bytesRead <= uncounted) return;
  setTimeout(() => {
    if (socket.destroyed) return;
    const content = socket.bytesRead * (1 + 1 / contentForOverhead);
    const bytes = Math.floor(connection.bytesRead - content - uncounted);
    if (bytes <= 0) return;
    account()
      .content({ giveUp: () => void socket.destroy() })
      .add(bytes * keptForEach);
  }, readAfter).unref();
}
