import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type Peer, startRawPeer } from '../api-servers/node-exchange.ts';
import type { TestRouter } from '../routers/node-router.ts';
import { rawClient } from './node-clients.ts';
import { readUntil } from './tls-client.ts';

/** A destination of upgrades, with what tests ask about it. */
export interface Destination extends Peer {
  /** Bytes that arrived behind the head of the upgrade request. */
  readonly arrived: () => string;
  /** The head of the upgrade request. */
  readonly head: () => string;
  readonly closed: Promise<void>;
}

/** A destination that answers an upgrade request with `answer` and then does as told. */
export async function startDestination(
  context: TestContext,
  answer: string,
  onAnswered: (socket: TLSSocket) => void = () => {},
): Promise<Destination> {
  let head = '';
  let arrived = '';
  const closed = Promise.withResolvers<void>();
  const peer = await startRawPeer(context, async (socket) => {
    socket.once('close', () => closed.resolve());
    const text = await readUntil(socket, '\r\n\r\n');
    const end = text.indexOf('\r\n\r\n') + 4;
    head = text.slice(0, end);
    arrived = text.slice(end);
    socket.write(answer, 'latin1');
    onAnswered(socket);
    socket.on('data', (chunk: Buffer) => {
      arrived += chunk.toString('latin1');
    });
  });
  return { ...peer, head: () => head, arrived: () => arrived, closed: closed.promise };
}

/** Sends everything back. */
export const echo = (socket: TLSSocket): void => {
  socket.on('data', (chunk) => socket.write(chunk));
};

/** The head of an upgrade request. */
export function upgradeRequest(token: string, lines = '', method = 'POST'): string {
  return `${method} /api/v1/namespaces/a/pods/b/exec?command=sh&command=-c HTTP/1.1\r\nHost: router\r\nConnection: Upgrade\r\nUpgrade: ${token}\r\n${lines}\r\n`;
}

/** A client that has sent `request`. */
export async function connect(context: TestContext, router: TestRouter, request: string): Promise<TLSSocket> {
  const client = await rawClient(context, router.port);
  client.write(request, 'latin1');
  return client;
}

/** A 101 with lines of its own around the ones it needs. */
export const switching = (token: string): string =>
  `HTTP/1.1 101 Switching Protocols\r\nX-Order: 1\r\nUpgrade: ${token}\r\nConnection: Upgrade\r\nX-Order: 2\r\n\r\n`;
