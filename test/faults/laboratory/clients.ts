import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { TestContext } from 'node:test';
import { statusOf } from '../../../packages/http2/test/hpack.ts';
import type { Protocol } from '../../support/api-servers/api-server-double.ts';
import { frame, frameFlag, frameType, rawHttp2 } from '../../support/clients/raw-http2.ts';
import { type Client, clientTls } from '../../support/security/certificates.ts';
import { type ClientAnswer, requestIdHeader } from './record.ts';

export interface ClientRequest {
  readonly requestId: string;
  readonly protocol: Protocol;
  readonly caller: Client;
  readonly method: string;
  readonly target: string;
  readonly body?: string;
}

/** A request under way; `answer` grows. */
export interface PendingRequest {
  readonly answer: ClientAnswer;
  /** The client hangs up. */
  giveUp(): void;
}

/** Sends a request on a connection of its own and writes down what comes. */
export function send(context: TestContext, port: number, request: ClientRequest): Promise<PendingRequest> {
  const { body: _, ...identification } = request;
  const answer: ClientAnswer = {
    ...identification,
    isWatch: request.target.includes('watch=true'),
    status: undefined,
    content: '',
    end: 'open',
    gaveUp: false,
  };
  return request.protocol === 'h2'
    ? sendHttp2(context, port, request, answer)
    : sendHttp1(context, port, request, answer);
}

async function sendHttp1(
  context: TestContext,
  port: number,
  { requestId, method, target, caller, body }: ClientRequest,
  answer: ClientAnswer,
): Promise<PendingRequest> {
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method,
    path: target,
    agent: false,
    servername: 'localhost',
    ...clientTls(caller),
    headers: [
      ...['host', `127.0.0.1:${port}`, 'connection', 'close', requestIdHeader, requestId],
      ...(body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]),
    ],
  });
  const over = (): void => {
    if (answer.end === 'open' && !answer.gaveUp) answer.end = 'broken';
  };
  outgoing.on('error', () => {}).on('close', over);
  outgoing.on('response', (incoming: IncomingMessage) => {
    answer.status = incoming.statusCode;
    incoming.on('data', (chunk: Buffer) => {
      answer.content += chunk.toString('latin1');
    });
    incoming.on('end', () => {
      answer.end = incoming.complete ? 'whole' : 'broken';
    });
    incoming.on('error', () => {});
  });
  outgoing.end(body);
  const giveUp = (): void => {
    answer.gaveUp = true;
    outgoing.destroy();
  };
  context.after(() => outgoing.destroy());
  return { answer, giveUp };
}

/** With frames, for Node's client would take some breaks for an end. */
async function sendHttp2(
  context: TestContext,
  port: number,
  { requestId, method, target, caller, body }: ClientRequest,
  answer: ClientAnswer,
): Promise<PendingRequest> {
  const raw = await rawHttp2(context, port, caller);
  const look = (): void => {
    const frames = raw.frames.filter(({ stream }) => stream === 1);
    const head = frames.find(({ type }) => type === frameType.headers);
    if (head !== undefined) answer.status = statusOf(head.payload);
    const data = frames.filter(({ type }) => type === frameType.data);
    answer.content = Buffer.concat(data.map(({ payload }) => payload)).toString('latin1');
    if (answer.gaveUp || answer.end !== 'open') return;
    const last = frames.find(
      ({ type, flags }) =>
        (type === frameType.data || type === frameType.headers) && (flags & frameFlag.endStream) !== 0,
    );
    if (last !== undefined) answer.end = 'whole';
    else if (raw.ended || frames.some(({ type }) => type === frameType.rstStream)) answer.end = 'broken';
  };
  raw.socket.on('data', look).on('close', look);
  raw.request(
    1,
    [
      ...[':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', target],
      ...[requestIdHeader, requestId],
    ],
    { endStream: body === undefined },
  );
  if (body !== undefined) raw.write(frame(frameType.data, frameFlag.endStream, 1, Buffer.from(body)));
  const giveUp = (): void => {
    answer.gaveUp = true;
    raw.socket.destroy();
  };
  return { answer, giveUp };
}
