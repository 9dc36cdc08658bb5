import assert from 'node:assert/strict';
import { type Duplex, PassThrough } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { ClientSession, ConnectionInbox } from '../../client/client-session.ts';
import type { ClientLimits, ClientStream, StreamListener } from '../../client/client-stream.ts';
import { Http2Error } from '../../frames/frame.ts';
import { type Http2ServerOptions, serveHttp2 } from '../../server/fetch-adapter.ts';
import type { IncomingStream, ResponseWriter } from '../../server/server-stream.ts';
import type { ConnectionEnd } from './connection.ts';
import {
  authority,
  cancel,
  contentOf,
  type Exchange,
  never,
  type Outcome,
  requestLinesOf,
  responseLinesOf,
  type Seen,
} from './exchanges.ts';

function after(turns: number, call: () => void): void {
  if (turns === 0) call();
  else setImmediate(after, turns - 1, call);
}

export class OurClient {
  readonly #session: ClientSession;
  #isClosed = false;
  /** After the last stream it ends by itself then. */
  #mayClose = false;

  constructor(end: ConnectionEnd, limits: ClientLimits) {
    const inbox = new ConnectionInbox();
    const nothing = (): void => {};
    this.#session = new ClientSession({
      // Nobody waits long enough to find it silent.
      socket: Object.assign(end, { bytesRead: 0 }),
      inbox,
      authority,
      limits,
      maximumStreams: 100,
      events: {
        ...{ onRoom: nothing, onSilence: nothing, onDraining: nothing },
        onGoAway: () => {
          this.#mayClose = true;
        },
        onClosed: () => {
          this.#isClosed = true;
        },
      },
    });
    const { buffer, callback } = inbox.onread;
    assert.ok(buffer instanceof Uint8Array);
    end.on('data', (piece: Buffer) => {
      buffer.set(piece);
      callback(piece.length, buffer);
      // The next read overwrites it.
      buffer.fill(0xee, 0, piece.length);
    });
  }

  ask({ exchange, response }: Outcome, number: number): void {
    const { method, upload, uploadEnds, pause } = exchange;
    const hasContent = upload.length > 0 || uploadEnds !== 'whole';
    const content = hasContent ? new PassThrough() : undefined;
    const request = { method, target: `/${number}`, headers: requestLinesOf(exchange), content };
    const stream: ClientStream = this.#session.request(request, listenerOf(response));
    if (pause > 0) stream.pause();
    after(pause, () => stream.resume());
    for (const piece of contentOf(upload)) content?.write(piece);
    if (uploadEnds === 'whole') content?.end();
    if (uploadEnds === 'reset') setImmediate(() => stream.reset(cancel, new Error('the client cancels')));
  }

  check(): void {
    if (this.#isClosed && !this.#mayClose) throw new Error('the connection was closed');
  }
}

export function listenerOf(seen: Seen): StreamListener {
  const close = (): void => {
    assert.ok(!seen.isClosed, 'it is over twice');
    seen.isClosed = true;
  };
  return {
    begun() {},
    head(status, lines) {
      assert.equal(seen.head, undefined);
      seen.head = [':status', String(status), ...lines];
    },
    data(piece) {
      assert.ok(!seen.isClosed && seen.head !== undefined);
      seen.pieces.push(Buffer.from(piece));
    },
    end() {
      close();
      seen.isWhole = true;
    },
    fail(error, refused) {
      close();
      seen.isRefused = refused;
      seen.code = error instanceof Http2Error ? error.errorCode : undefined;
    },
  };
}

export class OurServer {
  readonly #http2: ReturnType<typeof serveHttp2>;
  #failure: unknown;

  /** @param find what becomes of a request */
  constructor(
    end: ConnectionEnd,
    options: Pick<Http2ServerOptions, 'limits' | 'refusal'>,
    find: (incoming: IncomingStream) => Outcome | undefined,
  ) {
    const failed = (error: unknown): void => {
      this.#failure ??= error;
    };
    this.#http2 = serveHttp2({
      ...options,
      fetch: (_request, { incoming }) => {
        const outcome = find(incoming);
        assert.ok(outcome !== undefined, `nobody has asked for ${incoming.head.target}`);
        serve(incoming, outcome);
        return RESPONSE_ALREADY_SENT;
      },
      onFailure: (_what, error) => failed(error),
      errorHandler: (error) => {
        failed(error);
        return new Response(null, { status: 500 });
      },
    });
    // The end stands for a socket of node:tls: no more is asked of it.
    this.#http2.take(end as Duplex as TLSSocket);
  }

  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Sends GOAWAY; resolves when the connection is over. */
  close(): Promise<void> {
    return this.#http2.close();
  }
}

function serve(incoming: IncomingStream, { exchange, request }: Outcome): void {
  const { method, target, authority: named, headers } = incoming.head;
  request.head = [':method', method, ':scheme', 'https', ':authority', named, ':path', target, ...headers];
  const { content, hasContent } = incoming;
  const ended = (): void => {
    request.isWhole = true;
    if (exchange.isPatient) new Writer(incoming, exchange).begin();
  };
  if (hasContent) content.on('end', ended).on('error', () => {});
  else setImmediate(ended);
  incoming.follow({
    onClosed() {
      assert.ok(!request.isClosed, 'it is over twice');
      request.isClosed = true;
    },
  });
  if (exchange.pause < never) {
    after(exchange.pause, () => content.on('data', (piece: Buffer) => request.pieces.push(piece)));
  }
  if (!exchange.isPatient) setImmediate(() => new Writer(incoming, exchange).begin());
}

/** Writes a response as fast as its client takes it. */
class Writer implements ResponseWriter {
  readonly #stream: IncomingStream;
  readonly #exchange: Exchange;
  readonly #pieces: Buffer[];

  constructor(stream: IncomingStream, exchange: Exchange) {
    this.#stream = stream;
    this.#exchange = exchange;
    this.#pieces = contentOf(exchange.download);
    stream.attach(this);
  }

  begin(): void {
    const { status, hasInterim, downloadEnds } = this.#exchange;
    if (this.#stream.isClosed) return;
    if (downloadEnds === 'refused') {
      this.#stream.breakOff();
      return;
    }
    if (hasInterim) this.#stream.respondInterim(103);
    this.#stream.respond(status, responseLinesOf(this.#exchange));
    this.onRoom();
  }

  onRoom(): void {
    for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
      if (!this.#stream.write(piece) && this.#pieces.length > 0) return;
    }
    if (this.#exchange.downloadEnds === 'whole') this.#stream.end();
    else this.#stream.breakOff();
  }

  onGone(): void {}
}
