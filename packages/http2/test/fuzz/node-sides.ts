import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from 'node:http2';
import type { ConnectionEnd } from './connection.ts';
import {
  type Conversation,
  cancel,
  contentOf,
  type Exchange,
  type Outcome,
  refusedStream,
  requestHeadOf,
  responseLinesOf,
  type Seen,
} from './exchanges.ts';

const internalError = 2;

const optionsOf = ({ windows, tables, isPadded }: Conversation) => ({
  settings: { initialWindowSize: windows[0], headerTableSize: tables[0], maxHeaderListSize: 2 ** 20 },
  maxSendHeaderBlockLength: 2 ** 20,
  maxDeflateDynamicTableSize: tables[1],
  maxHeaderListPairs: 1_000,
  paddingStrategy: isPadded ? constants.PADDING_STRATEGY_MAX : constants.PADDING_STRATEGY_NONE,
});

/** nghttp2 at the other end. */
class NodeSide<Session extends ClientHttp2Session | ServerHttp2Session> {
  readonly session: Session;
  #failure: unknown;

  constructor(session: Session) {
    this.session = session;
    // nghttp2 has found a fault in what we have sent.
    session.on('error', (error) => this.failed(error));
  }

  failed(error: unknown): void {
    this.#failure ??= error;
  }

  changeWindow(initialWindowSize: number): void {
    if (!this.session.destroyed) this.session.settings({ initialWindowSize });
  }

  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** Node's types leave the symbol out. */
const neverIndexedIn = (headers: object): readonly string[] =>
  (headers as { readonly [sensitiveHeaders]?: readonly string[] })[sensitiveHeaders] ?? [];

/** Reads what comes, behind a pause. */
function read(stream: ClientHttp2Stream | ServerHttp2Stream, seen: Seen, pause: number): void {
  stream.on('data', (piece: Buffer) => seen.pieces.push(piece));
  let hasEnded = false;
  stream.on('end', () => {
    hasEnded = true;
  });
  stream.on('close', () => {
    seen.isClosed = true;
    seen.code = stream.rstCode;
    seen.isWhole = hasEnded && stream.rstCode === 0;
  });
  if (pause === 0) return;
  stream.pause();
  let turns = pause;
  const wait = (): void => {
    if (--turns > 0) setImmediate(wait);
    else stream.resume();
  };
  setImmediate(wait);
}

export class NodeServer extends NodeSide<ServerHttp2Session> {
  /** @param find an exchange by its path @param last the last one that is served where GOAWAY is sent */
  constructor(
    end: ConnectionEnd,
    conversation: Conversation,
    find: (path: string) => Outcome | undefined,
    last: Outcome | undefined,
  ) {
    super(performServerHandshake(end, optionsOf(conversation)));
    this.session.on('stream', (stream, headers, _flags, lines) => {
      const outcome = find(headers[':path'] ?? '');
      if (outcome === undefined) {
        this.failed(new Error(`nobody has asked for ${headers[':path']}`));
        stream.close(cancel);
        return;
      }
      const { request, exchange, isLate } = outcome;
      stream.on('error', () => {});
      if (isLate) return;
      if (conversation.goesAway && outcome === last) this.session.goaway(0, stream.id);
      request.head = lines as unknown as readonly string[];
      request.neverIndexed = neverIndexedIn(headers);
      read(stream, request, exchange.pause);
      if (exchange.isPatient) stream.once('end', () => respond(stream, exchange));
      else setImmediate(respond, stream, exchange);
    });
  }
}

function respond(stream: ServerHttp2Stream, exchange: Exchange): void {
  const { status, hasInterim, hasTrailers, downloadEnds, download } = exchange;
  if (stream.destroyed || stream.closed) return;
  if (downloadEnds === 'refused') {
    stream.close(refusedStream);
    return;
  }
  if (hasInterim) stream.additionalHeaders({ ':status': 103, 'x-early': 'a' });
  // Node's types leave lists of lines and `sendDate` out.
  const options = { waitForTrailers: hasTrailers, sendDate: false };
  stream.respond([':status', String(status), ...responseLinesOf(exchange)] as never, options);
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'a' }));
  for (const piece of contentOf(download)) stream.write(piece);
  if (downloadEnds === 'whole') stream.end();
  else setImmediate(() => stream.close(internalError));
}

export class NodeClient extends NodeSide<ClientHttp2Session> {
  constructor(end: ConnectionEnd, conversation: Conversation) {
    super(connect('http://router', { ...optionsOf(conversation), createConnection: () => end }));
  }

  ask({ exchange, response }: Outcome, number: number): void {
    const { upload, uploadEnds, hasTrailers, pause } = exchange;
    const hasContent = upload.length > 0 || uploadEnds !== 'whole';
    const options = { endStream: !hasContent, waitForTrailers: hasContent && hasTrailers };
    // Node's types leave lists of lines out.
    const stream = this.session.request(requestHeadOf(exchange, number) as never, options);
    stream.on('response', (headers, _flags, lines) => {
      response.head = lines as unknown as readonly string[];
      response.neverIndexed = neverIndexedIn(headers);
    });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'a' }));
    stream.on('error', () => {});
    read(stream, response, pause);
    for (const piece of contentOf(upload)) stream.write(piece);
    if (hasContent && uploadEnds === 'whole') stream.end();
    if (uploadEnds === 'reset') setImmediate(() => stream.close(cancel));
  }
}
