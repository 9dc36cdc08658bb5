import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { ByteReader } from './byte-reader.ts';
import type {
  ClientCertificate,
  ClientRequest,
  Exchange,
  RawConnection,
  StreamedAnswer,
  WireClient,
} from './exchange.ts';

/** Where a router listens, and how its clients connect; without `tls` in the clear. */
export interface Http1Server {
  readonly port: number;
  readonly tls?: (certificate: ClientCertificate | undefined) => ConnectionOptions;
}

/** Speaks HTTP/1.1, each request on a connection of its own. */
export function http1Client({ port, tls }: Http1Server): WireClient {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  return {
    send: (request) => send(request, port, tls, keep),
    async connect() {
      const socket =
        tls === undefined
          ? connectTcp(port, '127.0.0.1')
          : connectTls({ host: '127.0.0.1', port, ALPNProtocols: ['http/1.1'], ...tls(undefined) });
      keep(socket);
      await once(socket, tls === undefined ? 'connect' : 'secureConnect');
      return rawConnection(socket);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function send(
  request: ClientRequest,
  port: number,
  tls: Http1Server['tls'],
  keep: (socket: Socket) => void,
): Exchange {
  const { method = 'GET', target, headers = [], body, streamed = false, certificate } = request;
  const framing =
    body !== undefined
      ? ['Content-Length', String(Buffer.byteLength(body))]
      : streamed
        ? ['Transfer-Encoding', 'chunked']
        : [];
  const options: RequestOptions = {
    host: '127.0.0.1',
    port,
    method,
    path: target,
    agent: false,
    headers: ['Host', `localhost:${port}`, ...headers, ...framing],
  };
  const outgoing =
    tls === undefined
      ? httpRequest(options)
      : httpsRequest({ ...options, ALPNProtocols: ['http/1.1'], ...tls(certificate) });
  const interim: number[] = [];
  const answer = new Promise<StreamedAnswer>((resolve, reject) => {
    outgoing.on('socket', keep);
    outgoing.on('error', reject);
    outgoing.on('continue', () => interim.push(100));
    outgoing.on('response', (incoming) => resolve(answerOf(incoming)));
  });
  // A case that disconnects does not look at the response any more.
  answer.catch(() => {});
  if (streamed) outgoing.flushHeaders();
  else outgoing.end(body);
  return {
    answer,
    interim,
    write: (bytes) => outgoing.write(bytes, 'latin1'),
    end: () => outgoing.end(),
    disconnect: () => outgoing.destroy(),
  };
}

function answerOf(incoming: IncomingMessage): StreamedAnswer {
  const body = new ByteReader();
  incoming.on('data', (chunk: Buffer) => body.push(chunk));
  incoming.on('error', () => body.breakOff());
  incoming.on('close', () => (incoming.complete ? body.end() : body.breakOff()));
  return { status: incoming.statusCode ?? 0, headers: incoming.rawHeaders, body };
}

function rawConnection(socket: Socket): RawConnection {
  const received = new ByteReader();
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('end', () => received.end());
  socket.on('close', () => received.end());
  return {
    received,
    write: (bytes) => socket.write(bytes, 'latin1'),
    close: () => socket.destroy(),
  };
}
