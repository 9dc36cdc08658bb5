import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * A port that nobody listens on now; for programs that cannot choose one and say which. Clients of loopback addresses
 * connect from 127.0.0.1, so on any other one nothing takes the port before its server does.
 *
 * @param address default: 127.0.0.1
 */
export async function freePort(address = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
