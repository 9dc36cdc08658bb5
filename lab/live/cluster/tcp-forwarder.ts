import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Where a connection may go. */
export interface TcpDestination {
  readonly host: string;
  readonly port: number;
}

/** A layer 4 load balancer, in front of API servers without routers. */
export interface TcpForwarder {
  readonly port: number;
  /** Ends it and every connection through it. */
  close(): Promise<void>;
}

/**
 * Listens at 127.0.0.1 and sends each connection to the next destination in turn; one that takes no connections is
 * passed over, as a load balancer with connection checks would.
 */
export async function startTcpForwarder(destinations: readonly TcpDestination[]): Promise<TcpForwarder> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // The other end learns of it by `close`; there is nobody to tell besides.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    return socket;
  };

  function forward(client: Socket, attempt: number): void {
    const destination = destinations[turn++ % destinations.length];
    if (destination === undefined || attempt >= destinations.length) {
      client.destroy();
      return;
    }
    const server = keep(connect(destination));
    let isConnected = false;
    server.once('connect', () => {
      isConnected = true;
      client.pipe(server).pipe(client);
      client.once('close', () => server.destroy());
    });
    server.once('close', () => {
      if (isConnected) client.destroy();
      else forward(client, attempt + 1);
    });
  }

  const listener = createServer({ pauseOnConnect: true }, (client) => {
    keep(client);
    forward(client, 0);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the forwarder has no port');
  return {
    port: address.port,
    async close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}
