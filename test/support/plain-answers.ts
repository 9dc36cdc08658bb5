import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { type AnsweredExchange, PlainAnswer } from '../../src/node/plain-http1/plain-answer.ts';

export interface Connected {
  /** The client's side. */
  readonly client: Socket;
  readonly answer: PlainAnswer;
  /** The server's side. */
  readonly socket: Socket;
  /** What the answer has told its exchange, in order. */
  readonly told: readonly string[];
}

export async function connected(
  context: TestContext,
  { method = 'GET', isLast = false } = {},
): Promise<Connected> {
  const server = createServer();
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => client.destroy());
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => {});
  const told: string[] = [];
  const exchange: AnsweredExchange = {
    method,
    isLast,
    keepAliveSeconds: 90,
    begun: () => told.push('begun'),
    answered() {
      told.push('answered');
      socket.end();
    },
    onFinished: () => {},
  };
  return { client, socket, answer: new PlainAnswer(socket, exchange), told };
}

/** What a client reads of one answer, to the end of its connection. */
export async function bytesOf(
  context: TestContext,
  write: (answer: PlainAnswer) => void,
  options: { method?: string; isLast?: boolean } = {},
): Promise<string> {
  const { client, answer } = await connected(context, options);
  write(answer);
  return text(client.setEncoding('latin1'));
}

export const dated = ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'];
export const kept = 'Connection: keep-alive\r\nKeep-Alive: timeout=90\r\n';
export const dateLine = 'Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n';
export const announced = (length: number): string[] => [...dated, 'Content-Length', String(length)];
