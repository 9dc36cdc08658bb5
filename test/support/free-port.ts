import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below those that an operating system gives out for port 0 and to clients (Linux: 32768 and above, others: 49152), so
 * that nothing takes the port before its server does, and one that is to have no server has none.
 */
const lowest = 10_000;
const highest = 32_767;

/**
 * A port that nobody listens on now; for programs that cannot choose one and say which.
 * @param address default: 127.0.0.1
 */
export async function freePort(address = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      );
      server.listen(port, address, () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
