import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { type Client, clientTls } from './certificates.ts';
import type { Protocol } from './recording-backend.ts';

/**
 * A connection on which an attack writes by hand, destroyed at the end of the test.
 *
 * @param take is given the socket before anything can have come on it
 */
export async function connectToRouter<Raw>(
  context: TestContext,
  port: number,
  protocol: Protocol,
  client: Client,
  take: (socket: TLSSocket) => Raw,
): Promise<Raw> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: 'localhost',
    ALPNProtocols: [protocol],
    ...clientTls(client),
  });
  const raw = take(socket);
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return raw;
}
