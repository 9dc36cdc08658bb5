import type { IncomingMessage } from 'node:http';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer } from 'node:https';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { TlsOptions } from 'node:tls';
import { serving } from './certificate.ts';
import { type LoopbackServer, listenOnLoopback } from './listen-on-loopback.ts';

export type Protocol = 'h2' | 'http/1.1';

/** A request at a peer's end: what Node's HTTP/1.1 and HTTP/2 requests have in common. */
export type PeerIncoming = (IncomingMessage | Http2ServerRequest) & Readable;

/** An answer at a peer's end. On HTTP/2 there is a `stream`. */
export interface PeerOutgoing extends NodeJS.EventEmitter {
  readonly stream?: ServerHttp2Stream;
  setHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(status: number, headers?: Record<string, string>): unknown;
  flushHeaders(): void;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string | Buffer): unknown;
  destroy(error?: Error): unknown;
}

export type PeerHandler = (incoming: PeerIncoming, outgoing: PeerOutgoing) => unknown;

export interface PeerOptions {
  /** Default: the certificate of the tests. */
  readonly tls?: TlsOptions;
  readonly port?: number;
  /** HTTP/2 streams at a time on a connection. Default: any number. */
  readonly maxConcurrentStreams?: number | undefined;
}

/** A server of Node's own that speaks one protocol only. Stopped at the end of the test. */
export async function startPeer(
  context: TestContext,
  protocol: Protocol,
  handle: PeerHandler,
  { tls = serving, port = 0, maxConcurrentStreams }: PeerOptions = {},
): Promise<LoopbackServer> {
  const server = protocol === 'h2' ? http2Server() : http1Server();
  const listening = await listenOnLoopback(server, port);
  context.after(listening.stop);
  return listening;

  function http2Server() {
    const onRequest = (incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void => {
      // Node's types leave flushHeaders() out.
      handle(incoming, outgoing as unknown as PeerOutgoing);
    };
    // Go's servers announce as much.
    const maxHeaderListSize = 1024 * 1024;
    const settings = {
      maxHeaderListSize,
      ...(maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams }),
    };
    return createSecureServer({ ...tls, maxHeaderListPairs: 5_000, settings }, onRequest);
  }

  function http1Server() {
    const made = createServer({ ...tls, ALPNProtocols: ['http/1.1'], maxHeaderSize: 1024 * 1024 }, handle);
    made.maxHeadersCount = 5_000;
    // Node closes after five seconds, and a response that is not read by then breaks off: on a busy machine.
    made.keepAliveTimeout = 0;
    return made;
  }
}
