import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { Http1ResponseSink } from '../../src/node/serving/http1-response-sink.ts';

export interface Connected {
  /** The client's side. */
  readonly client: Socket;
  readonly response: Http1ResponseSink;
  /** The server's side. */
  readonly socket: Socket;
  /** 'answered' from when the system has the last byte on. */
  readonly told: readonly string[];
}

/** @param isLast whether the client asks for the end of the connection, by HTTP/1.1 */
export async function connected(
  context: TestContext,
  { method = 'GET', isLast = true } = {},
): Promise<Connected> {
  const server = createServer({ keepAliveTimeout: 90_000 });
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => client.destroy());
  client.on('error', () => {});
  const last = isLast ? 'Connection: close\r\n' : '';
  client.write(`${method} / HTTP/1.1\r\nHost: a\r\n${last}\r\n`);
  const [incoming, outgoing] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const { socket } = incoming;
  const told: string[] = [];
  outgoing.once('finish', () => told.push('answered'));
  return { client, socket, response: new Http1ResponseSink(outgoing, { onFinished: () => {} }), told };
}

/** What a client reads of one response, to the end of its connection. */
export async function bytesOf(
  context: TestContext,
  write: (response: Http1ResponseSink) => void,
  options: { method?: string } = {},
): Promise<string> {
  const { client, response } = await connected(context, options);
  write(response);
  return text(client.setEncoding('latin1'));
}

export const dated = ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'];
export const ended = 'Connection: close\r\n';
export const dateLine = 'Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n';
export const announced = (length: number): string[] => [...dated, 'Content-Length', String(length)];
