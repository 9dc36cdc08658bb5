import { once } from 'node:events';
import { type AddressInfo, Server, type Socket } from 'node:net';

/** A server of any protocol: those of Node share no type that says as little. */
export interface Listening extends NodeJS.EventEmitter {
  listen(port: number, host: string): unknown;
  address(): AddressInfo | string | null;
  close(callback: () => void): unknown;
}

export interface LoopbackServer {
  readonly port: number;
  /** How many connections it has accepted so far. */
  connections(): number;
  /** How many of them are open. */
  openConnections(): number;
  /** Frees the port for another process; connections that are open stay. */
  leave(): Promise<void>;
  /** Breaks every connection; the same however often it is called. */
  stop(): Promise<void>;
}

/** @param port default: a free one */
export async function listenOnLoopback(server: Listening, port = 0): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  let stopped: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => accepted,
    openConnections: () => sockets.size,
    leave: () =>
      new Promise((resolve) => {
        // The `close` of HTTP servers would close idle connections, too.
        Server.prototype.close.call(server);
        setImmediate(resolve);
      }),
    stop() {
      stopped ??= new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
      return stopped;
    },
  };
}
