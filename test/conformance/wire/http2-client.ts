import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from 'node:http2';
import type { ConnectionOptions } from 'node:tls';
import { ByteReader } from './byte-reader.ts';
import type { ClientCertificate, ClientRequest, Exchange, StreamedAnswer, WireClient } from './exchange.ts';

export interface Http2Server {
  readonly port: number;
  readonly tls: (certificate: ClientCertificate | undefined) => ConnectionOptions;
}

/** Speaks HTTP/2, each request on a connection of its own: a 401 ends the one that it was given on. */
export function http2Client({ port, tls }: Http2Server): WireClient {
  const sessions = new Set<ClientHttp2Session>();
  return {
    send(request) {
      const options: SecureClientSessionOptions & { readonly strictSingleValueFields: boolean } = {
        // Cases send what should stand once twice.
        strictSingleValueFields: false,
        ...tls(request.certificate),
      };
      const session = connect(`https://127.0.0.1:${port}`, options);
      sessions.add(session);
      session.on('error', () => session.destroy());
      session.once('close', () => sessions.delete(session));
      return send(session, request);
    },
    async close() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** RFC 9113 section 7: no longer needed. What a browser or kubectl sends when it stops a watch. */
const cancel = 8;

function send(session: ClientHttp2Session, request: ClientRequest): Exchange {
  const { method = 'GET', target, headers = [], body, streamed = false } = request;
  const lines = headers.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line));
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
  const stream = session.request([':method', method, ':path', target, ...lines, ...length], {
    endStream: body === undefined && !streamed,
  });
  const reader = new ByteReader();
  const interim: number[] = [];
  const answer = new Promise<StreamedAnswer>((resolve, reject) => {
    stream.on('continue', () => interim.push(100));
    stream.on('response', (_headers, _flags, rawHeaders) => resolve(answerOf(rawHeaders, reader)));
    stream.on('error', reject);
    stream.on('close', () => reject(new Error(`the stream closed with code ${stream.rstCode}`)));
  });
  // A case that disconnects does not look at the response any more.
  answer.catch(() => {});
  stream.on('data', (chunk: Buffer) => reader.push(chunk));
  stream.on('close', () => {
    if (stream.rstCode === 0) reader.end();
    else reader.breakOff();
    session.close();
  });
  if (body !== undefined) stream.end(body);
  return {
    answer,
    interim,
    write: (bytes) => stream.write(Buffer.from(bytes, 'latin1')),
    end: () => stream.end(),
    disconnect() {
      // close() would end a body in good order first.
      if (stream.writableEnded) stream.close(cancel);
      else stream.destroy(new Error('the client has left'));
    },
  };
}

function answerOf(rawHeaders: readonly string[], body: ByteReader): StreamedAnswer {
  const pseudo = rawHeaders.indexOf(':status');
  return {
    status: Number(rawHeaders[pseudo + 1]),
    headers: rawHeaders.filter((_, index) => index - (index % 2) !== pseudo),
    body,
  };
}
