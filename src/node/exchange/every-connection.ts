import type { Server, Socket } from 'node:net';

/**
 * Tracks all connections of a server. Node's own `closeAllConnections` misses connections during their TLS handshake,
 * and `close` would wait for them.
 * @returns destroys all of them
 */
export function everyConnectionOf(server: Server): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
