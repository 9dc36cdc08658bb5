import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { firstHeader, type RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import { headOf, isOwn, reviewsPath, routerItself } from '../support/api-servers/api-server-double.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';
import { administrators } from './callers.ts';
import { frontProxyAuthority, serverPair } from './credentials.ts';
import { assertedUser, identityLines, peerAssertionOf, toldGroups } from './told-identity.ts';
import { ByteReader } from './wire/byte-reader.ts';

/** A request as it stood on the wire at a server's end. */
export interface PeerRequest extends ReturnType<typeof headOf> {
  readonly httpVersion: string;
  readonly body: ByteReader;
  /** Resolves when the connection, or the stream, ends: `answered` once the response was sent to its end. */
  readonly over: Promise<'answered' | 'gone'>;
}

/** The response a script writes. */
export interface PeerAnswer {
  head(status: number, headers?: RawHeaders): void;
  write(bytes: string | Buffer): void;
  end(bytes?: string | Buffer): void;
  /** Ends it short of its end: a reset, or a connection that is torn down. */
  breakOff(): void;
}

/** Script of a server for a request. */
export type Script = (request: PeerRequest, answer: PeerAnswer) => unknown;
/** Always this response. */
export const responds =
  (status: number, headers: RawHeaders, body?: string | Buffer): Script =>
  (_request, answer) => {
    answer.head(status, headers);
    answer.end(body);
  };
/** Script of a server for an upgrade request, on its bare socket. */
export type UpgradeScript = (request: PeerRequest, socket: Duplex) => unknown;

/** A real TLS server on loopback that keeps what it gets and answers by script. */
export class Peer {
  readonly id: string;
  port = 0;
  /** Requests of clients, in order. */
  requests: PeerRequest[] = [];
  script: Script = answerOk;
  upgradeScript: UpgradeScript = refuseUpgrade;
  readonly #waiting: (() => void)[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** Forgets all and answers as at first. */
  reset(): void {
    this.requests = [];
    this.script = answerOk;
    this.upgradeScript = refuseUpgrade;
  }

  keep(request: PeerRequest): void {
    this.requests.push(request);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Waits for its first request since `reset`. */
  async first(): Promise<PeerRequest> {
    for (;;) {
      const [request] = this.requests;
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The one request that it got. @throws unless there is exactly one. */
  only(): PeerRequest {
    const [request] = this.requests;
    if (request === undefined || this.requests.length > 1) {
      throw new Error(`${this.id} got ${this.requests.length} requests, not one`);
    }
    return request;
  }
}

export interface RunningPeer {
  readonly peer: Peer;
  close(): Promise<void>;
}

/** @param protocols what it offers: servers of every age speak HTTP/1.1, most speak HTTP/2 as well. */
export async function startPeer(id: string, protocols: 'h2 and http/1.1' | 'http/1.1'): Promise<RunningPeer> {
  const peer = new Peer(id);
  const tls = {
    cert: serverPair.chain,
    key: serverPair.privateKey,
    ca: frontProxyAuthority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const handle = (
    incoming: IncomingMessage | Http2ServerRequest,
    outgoing: ServerResponse | Http2ServerResponse,
  ): void => {
    const over = Promise.withResolvers<'answered' | 'gone'>();
    const whole = (): boolean => outgoing.writableEnded && !brokenOff;
    let brokenOff = false;
    outgoing.on('close', () => over.resolve(whole() ? 'answered' : 'gone'));
    outgoing.on('error', () => over.resolve('gone'));
    const request = take(incoming, over.promise);
    const answer = answerOn(outgoing, () => {
      brokenOff = true;
    });
    if (isRouters(request)) {
      answer.head(404);
      answer.end();
      return;
    }
    if (request.target === reviewsPath) {
      answerReview(request, answer).catch(() => outgoing.destroy());
      return;
    }
    peer.keep(request);
    peer.script(request, answer);
  };
  const server =
    protocols === 'http/1.1'
      ? createServer({ ...tls, ALPNProtocols: ['http/1.1'] }, handle)
      : createSecureServer({ ...tls, allowHTTP1: true }, handle);
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    const gone = new Promise<'gone'>((resolve) => socket.once('close', () => resolve('gone')));
    const request = take(incoming, gone);
    peer.keep(request);
    peer.upgradeScript(request, socket);
  });
  const { port, stop } = await listenOnLoopback(server);
  peer.port = port;
  return { peer, close: stop };
}

/** The token of one who may read `v1/status` of routers. Nobody else may use their paths. */
export const monitorToken = 'of-a-monitor';

/** RBAC's word on who may use the router's own paths; by default anonymous callers may not even ask. */
async function answerReview({ headers, body }: PeerRequest, answer: PeerAnswer): Promise<void> {
  const bearer = firstHeader(headers, 'authorization');
  const isKnown =
    bearer !== undefined || identityLines(headers).length > 0 || peerAssertionOf(headers) !== undefined;
  const { spec } = JSON.parse(await body.toEnd()) as {
    readonly spec: { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };
  };
  const { path, verb } = spec.nonResourceAttributes;
  const allowed =
    toldGroups(headers).includes(administrators) ||
    (bearer === `Bearer ${monitorToken}` && path === '/.mixed-version-proxy/v1/status' && verb === 'get');
  answer.head(isKnown ? 201 : 403, ['Content-Type', 'application/json']);
  answer.end(JSON.stringify({ kind: 'SelfSubjectAccessReview', status: { allowed } }));
}

function take(incoming: IncomingMessage | Http2ServerRequest, over: PeerRequest['over']): PeerRequest {
  const body = new ByteReader();
  incoming.on('data', (chunk: Buffer) => body.push(chunk));
  // To Node a reset ends an HTTP/2 stream as its end does: only once it is closed its code tells.
  const isWhole = (): boolean =>
    incoming instanceof Http2ServerRequest ? incoming.stream.rstCode === 0 : incoming.complete;
  let ended = false;
  incoming.on('end', () => {
    ended = true;
    if (incoming instanceof Http2ServerRequest && incoming.stream.closed) return;
    if (isWhole()) body.end();
    else body.breakOff();
  });
  incoming.on('error', () => body.breakOff());
  incoming.on('close', () => {
    if (ended && isWhole()) body.end();
    else body.breakOff();
  });
  return { ...headOf(incoming), httpVersion: incoming.httpVersion, body, over };
}

/** Methods that Node's HTTP/1.1 and HTTP/2 answers have in common. */
interface Outgoing {
  appendHeader(name: string, value: string): unknown;
  writeHead(status: number): unknown;
  write(bytes: string | Buffer): unknown;
  end(bytes?: string | Buffer): unknown;
}

function answerOn(outgoing: ServerResponse | Http2ServerResponse, onBreakOff: () => void): PeerAnswer {
  const either: Outgoing = outgoing as Outgoing;
  return {
    head(status, headers = []) {
      for (let index = 0; index + 1 < headers.length; index += 2) {
        either.appendHeader(headers[index] ?? '', headers[index + 1] ?? '');
      }
      either.writeHead(status);
      if ('flushHeaders' in outgoing) outgoing.flushHeaders();
    },
    write: (bytes) => void either.write(bytes),
    end: (bytes) => void (bytes === undefined ? either.end() : either.end(bytes)),
    breakOff() {
      onBreakOff();
      // RFC 9113 section 7: INTERNAL_ERROR.
      if ('stream' in outgoing) outgoing.stream.close(2);
      else outgoing.socket?.destroy();
    },
  };
}

function isRouters(request: PeerRequest): boolean {
  const assertion = peerAssertionOf(request.headers);
  return isOwn(request) || (assertion !== undefined && assertedUser(assertion)?.name === routerItself);
}

/** A JSON answer that tells nothing. */
function answerOk(_request: PeerRequest, answer: PeerAnswer): void {
  const body = '{"kind":"Example"}';
  answer.head(200, ['Content-Type', 'application/json', 'Content-Length', String(body.length)]);
  answer.end(body);
}

function refuseUpgrade(_request: PeerRequest, socket: Duplex): void {
  socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}
