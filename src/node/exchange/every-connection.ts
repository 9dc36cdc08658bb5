import type { Server, Socket } from 'node:net';

/**
 * Watches a server from its start, so that all of its connections can be cut. Node's own `closeAllConnections` knows
 * of none whose TLS handshake is under way; once it is over, the connection keeps `close` waiting.
 * @returns cuts them
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
