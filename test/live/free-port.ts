import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that nobody listens on at `address`. Clients of loopback addresses connect from 127.0.0.1, so on any other
 * one nothing takes the port before its server does.
 */
export async function freePort(address: string): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  const bound = server.address();
  server.close();
  await once(server, 'close');
  if (bound === null || typeof bound === 'string') throw new Error(`no port at ${address}`);
  return bound.port;
}
