import { once } from 'node:events';
import {
  createServer as createHttp1,
  type Server as Http1Server,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { allHeaders, firstHeader, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { frame, frameFlag, frameType } from '../../support/clients/raw-http2.ts';
import { type Asked, answerWell, type Script } from './asked.ts';
import { requestIdHeader, type SeenRequest } from './record.ts';
import { insideOf, type Wire, type WireOptions, wireServer } from './wire.ts';
import { WireAsked } from './wire-asked.ts';

/** A request over HTTP/2. */
class Http2Asked extends WireAsked implements Asked {
  readonly protocol = 'h2';
  readonly isWatch: boolean;
  readonly #stream: ServerHttp2Stream;

  constructor(seen: SeenRequest, stream: ServerHttp2Stream, wire: Wire) {
    super(seen, wire, stream);
    this.isWatch = seen.target.includes('watch=true');
    this.#stream = stream;
  }

  begin(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.seen.answer.status = status;
    this.#stream.respond({ ':status': status, ...headers });
  }

  send(content: string): void {
    this.seen.answer.content += content;
    this.#stream.write(content);
  }

  end(): void {
    this.seen.answer.end = 'whole';
    this.#stream.end();
  }

  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    this.broken();
    if (code === constants.NGHTTP2_REFUSED_STREAM) this.seen.answer.refused = true;
    // Node's own close() would end the stream first, with END_STREAM.
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    this.raw(frame(frameType.rstStream, frameFlag.none, this.streamId, payload));
    this.#stream.destroy();
  }

  get streamId(): number {
    return this.#stream.id ?? 0;
  }
}

/** A request over HTTP/1.1. */
class Http1Asked extends WireAsked implements Asked {
  readonly protocol = 'http/1.1';
  readonly isWatch: boolean;
  readonly #outgoing: ServerResponse;

  constructor(seen: SeenRequest, incoming: IncomingMessage, outgoing: ServerResponse, wire: Wire) {
    super(seen, wire, outgoing);
    this.isWatch = incoming.url?.includes('watch=true') === true;
    this.#outgoing = outgoing;
  }

  begin(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.seen.answer.status = status;
    this.#outgoing.writeHead(status, headers);
    this.#outgoing.flushHeaders();
  }

  send(content: string): void {
    this.seen.answer.content += content;
    this.#outgoing.write(content);
  }

  end(): void {
    this.seen.answer.end = 'whole';
    this.#outgoing.end();
  }

  reset(): void {
    this.cut();
  }

  get streamId(): number {
    throw new Error('HTTP/1.1 has no streams');
  }
}

/** The beginning of what is written down of a request. */
function seenRequest(
  server: string,
  method: string,
  target: string,
  lines: RawHeaders,
  connection: TLSSocket,
): SeenRequest {
  const commonName = connection.getPeerCertificate().subject?.CN;
  return {
    server,
    requestId: firstHeader(lines, requestIdHeader) ?? '',
    protocol: connection.alpnProtocol === 'h2' ? 'h2' : 'http/1.1',
    method,
    target,
    users: allHeaders(lines, 'x-remote-user'),
    groups: allHeaders(lines, 'x-remote-group'),
    marks: allHeaders(lines, 'x-kubernetes-peer-proxied'),
    via: allHeaders(lines, 'via').flatMap((value) => value.split(',').map((member) => member.trim())),
    clientCertificate: typeof commonName === 'string' ? commonName : undefined,
    body: '',
    answer: { status: undefined, content: '', end: 'open', refused: false },
    isOver: false,
  };
}

export interface ScriptedServerOptions extends WireOptions {
  /** Default: answers as an API server does. */
  readonly script?: Script;
  /** Where what arrives is written down. */
  readonly seen: SeenRequest[];
}

/** An API server that does what its script says. */
export class ScriptedServer {
  readonly name: string;
  /** Changed by tests while it runs. */
  script: Script;
  /** 0 before the first start; the same ever after. */
  port = 0;
  /** Accepted so far. */
  connections = 0;
  /** Requests without an ID, which are no part of an experiment: answered with 404. */
  readonly others: SeenRequest[] = [];
  readonly #seen: SeenRequest[];
  readonly #server: Server;
  readonly #http1: Http1Server;
  readonly #sockets = new Set<Socket>();
  readonly #wires = new WeakMap<object, Wire>();

  constructor(name: string, options: ScriptedServerOptions) {
    this.name = name;
    this.script = options.script ?? answerWell;
    this.#seen = options.seen;
    this.#http1 = createHttp1({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
    this.#http1.on('request', (incoming, outgoing) => this.#takeHttp1(incoming, outgoing));
    this.#server = wireServer(options, (wire) => this.#connected(wire));
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Listens, at the port that it had before if there was one. */
  async start(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Stops listening and cuts every connection. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #connected(wire: Wire): void {
    if (wire.tls.alpnProtocol !== 'h2') {
      this.#wires.set(wire.tls, wire);
      this.#http1.emit('connection', wire.tls);
      return;
    }
    const session = performServerHandshake(insideOf(wire.tls));
    session.on('error', () => {});
    session.on('stream', (stream, _headers, _flags, lines: string[]) => this.#takeHttp2(wire, stream, lines));
  }

  #takeHttp1(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const wire = this.#wires.get(incoming.socket);
    if (wire === undefined) throw new Error('a connection that this server has not accepted');
    const { method = '', url = '', rawHeaders } = incoming;
    const seen = seenRequest(this.name, method, url, rawHeaders, wire.tls);
    this.#take(new Http1Asked(seen, incoming, outgoing, wire), incoming);
  }

  #takeHttp2(wire: Wire, stream: ServerHttp2Stream, lines: RawHeaders): void {
    const pseudo = (key: string): string => firstHeader(lines, key) ?? '';
    const seen = seenRequest(this.name, pseudo(':method'), pseudo(':path'), lines, wire.tls);
    this.#take(new Http2Asked(seen, stream, wire), stream);
  }

  #take(asked: Asked, body: NodeJS.ReadableStream): void {
    const { seen } = asked;
    // Requests on the router's own account: for documents that these servers do not have.
    const isOther = seen.requestId === '';
    if (isOther) this.others.push(seen);
    else this.#seen.push(seen);
    body.on('data', (chunk: Buffer) => {
      seen.body += chunk.toString('latin1');
    });
    // A client that resets or vanishes is what some experiments are about.
    body.on('error', () => {});
    body.on('end', () => {
      if (!isOther) {
        void this.script(asked);
        return;
      }
      asked.begin(404, { 'content-length': '0' });
      asked.end();
    });
  }
}

/** Stopped at the end of the test. */
export async function startScriptedServer(
  context: TestContext,
  name: string,
  options: ScriptedServerOptions,
): Promise<ScriptedServer> {
  const server = new ScriptedServer(name, options);
  await server.start();
  context.after(() => server.stop());
  return server;
}
