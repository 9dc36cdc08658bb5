import type { ClientHttp2Session } from 'node:http2';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type Protocol, servingAuthority } from '../api-servers/node-exchange.ts';
import { exchangeHttp1, openHttp2, openSocket, type WireAnswer, type WireRequest } from './tls-client.ts';

export type { WireAnswer };

/** Asks the router over HTTP/1.1, on a connection of its own. */
export const askHttp1 = (port: number, request: WireRequest = {}): Promise<WireAnswer> =>
  exchangeHttp1({ port, ca: servingAuthority.certificate }, request);

/** An HTTP/2 connection to the router, closed at the end of the test. */
export const http2Client = (context: TestContext, port: number): ClientHttp2Session =>
  openHttp2(context, { port, ca: servingAuthority.certificate });

export { askHttp2 } from '../../../packages/http2/test/node-client.ts';

/** A TLS connection to the router on which the test writes HTTP by hand. */
export const rawClient = (
  context: TestContext,
  port: number,
  protocol: Protocol = 'http/1.1',
): Promise<TLSSocket> => openSocket(context, { port, ca: servingAuthority.certificate }, protocol);

/** Everything that still comes on `socket`. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.readableEnded && !socket.destroyed) {
    await new Promise<void>((resolve) => {
      socket.on('end', () => resolve()).on('close', () => resolve());
    });
  }
  return Buffer.concat(chunks).toString('latin1');
}
