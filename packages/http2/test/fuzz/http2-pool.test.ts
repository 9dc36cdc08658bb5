import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { Http2Pool, type RequestBody } from '../../client/http2-pool.ts';
import { fieldBlock } from '../hpack.ts';
import { type Frame, frame, frameFlag, frameType, uint32 } from '../raw-http2.ts';
import { ConnectionEnd } from './connection.ts';
import { refusedStream, Seen } from './exchanges.ts';
import { framesIn, preface, settings } from './frames.ts';
import { fuzz } from './fuzz.ts';
import { listenerOf } from './our-sides.ts';

const { none, endHeaders, endStream } = frameFlag;
const internalError = 2;
const noError = 0;

/** The ways of a server when the head of a request has come. */
type Act =
  | 'answers'
  | 'answers in part'
  | 'refuses'
  | 'refuses behind its head'
  | 'resets'
  | 'goes away before it'
  | 'goes away behind it'
  | 'fails before it'
  | 'closes'
  | 'answers and closes'
  | 'does nothing';

interface Story {
  /** The content of each request, and how many turns after the one before it is asked. */
  readonly requests: readonly { readonly body: 'none' | 'bytes' | 'kept'; readonly later: number }[];
  /** In the order in which heads come, whatever the connection. */
  readonly acts: readonly Act[];
  /** Turns until a server does what it does. */
  readonly delays: readonly number[];
  /** SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly maximumStreams: number;
  readonly cuts: readonly number[];
}

/** One time that a request was written to a connection. */
interface Writing {
  readonly stream: number;
  hasHead: boolean;
  /** The server has said that it has not processed it (RFC 9113 section 8.7). */
  isDisowned: boolean;
  /** By a server that goes away in good order. */
  isGoneBy: boolean;
  content: string;
  hasEnd: boolean;
}

/** The writings of each request, by the request's number. */
type Writings = readonly Writing[][];

/** A body that can be sent again. */
class KeptBody extends Readable implements RequestBody {
  readonly #text: string;
  constructor(text: string) {
    super();
    this.#text = text;
  }
  override _read(): void {
    this.push(this.#text);
    this.push(null);
  }
  takeWhole(): undefined {
    return undefined;
  }
  again(): Readable {
    return new KeptBody(this.#text);
  }
}

const bodyOf = (number: number): string => `body ${number}`;

function after(turns: number, call: () => void): void {
  if (turns === 0) call();
  else setImmediate(after, turns - 1, call);
}

/** A server's end of one connection, and all that the pool has written to its own. */
class Connection {
  readonly #begun = new Map<number, Writing>();
  /** Requests, by stream, of which the server has not said its last. */
  readonly #open = new Map<number, Writing>();
  readonly #far: ConnectionEnd;
  readonly #nextAct: () => readonly [Act, number];
  readonly #writings: Writings;
  #written = Buffer.alloc(0);
  #read = 0;
  /** That the server processes, by its GOAWAY. */
  #lastStream = Number.POSITIVE_INFINITY;
  #isInGoodOrder = false;

  constructor(near: ConnectionEnd, far: ConnectionEnd, story: Story, shared: SharedByServers) {
    this.#far = far;
    this.#nextAct = shared.nextAct;
    this.#writings = shared.writings;
    // All that was handed to the socket may arrive, be it read or not.
    near.onWritten((bytes) => {
      this.#written = Buffer.concat([this.#written, bytes]);
      for (const each of this.#newFrames()) this.#took(each);
    });
    far.on('error', () => {}).resume();
    far.write(settings(3, story.maximumStreams));
  }

  #newFrames(): Frame[] {
    const frames = framesIn(this.#written.subarray(preface.length));
    const fresh = frames.slice(this.#read);
    this.#read = frames.length;
    return fresh;
  }

  #took({ type, flags, stream, payload }: Frame): void {
    const text = payload.toString('latin1');
    const isLast = (flags & endStream) !== 0;
    const begun = this.#begun.get(stream);
    if (type === frameType.data && begun !== undefined) {
      begun.content += text;
      begun.hasEnd = isLast;
    }
    if (type !== frameType.headers) return;
    const number = Number(/\/(\d+)/.exec(text)?.[1]);
    const isDisowned = stream > this.#lastStream;
    const writing: Writing = {
      stream,
      hasHead: false,
      isDisowned,
      isGoneBy: isDisowned && this.#isInGoodOrder,
      content: '',
      hasEnd: isLast,
    };
    this.#writings[number]?.push(writing);
    this.#begun.set(stream, writing);
    if (isDisowned) return;
    this.#open.set(stream, writing);
    const [act, delay] = this.#nextAct();
    // All that was written has come by then.
    after(delay + 2, () => this.#act(act, number, writing));
  }

  #act(act: Act, number: number, writing: Writing): void {
    const far = this.#far;
    if (!far.writable || !this.#open.has(writing.stream)) return;
    const { stream } = writing;
    const send = (...frames: Buffer[]): void => {
      far.write(Buffer.concat(frames));
    };
    const head = (): Buffer => {
      writing.hasHead = true;
      return frame(
        frameType.headers,
        endHeaders,
        stream,
        fieldBlock([':status', '200', 'x-id', `${number}`]),
      );
    };
    const end = frame(frameType.data, endStream, stream, Buffer.from(`answer ${number}`));
    const reset = (code: number): Buffer => {
      this.#open.delete(stream);
      return frame(frameType.rstStream, none, stream, uint32(code));
    };
    /** Streams above `last` are disowned, but for what they have got already. */
    const goAway = (last: number, code: number): Buffer => {
      this.#lastStream = Math.min(last, this.#lastStream);
      this.#isInGoodOrder = code === noError;
      for (const [id, other] of this.#open) {
        if (id <= last) continue;
        other.isDisowned = !other.hasHead;
        other.isGoneBy = this.#isInGoodOrder;
        this.#open.delete(id);
      }
      return frame(frameType.goAway, none, 0, uint32(this.#lastStream, code));
    };
    switch (act) {
      case 'answers':
        send(head(), end);
        this.#open.delete(stream);
        break;
      case 'answers in part':
        send(head(), frame(frameType.data, none, stream, Buffer.from('answer')));
        break;
      case 'refuses':
        writing.isDisowned = true;
        send(reset(refusedStream));
        break;
      case 'refuses behind its head':
        send(head(), reset(refusedStream));
        break;
      case 'resets':
        send(reset(internalError));
        break;
      case 'goes away before it':
        send(goAway(stream - 1, noError));
        break;
      case 'goes away behind it':
        send(goAway(stream, noError), head(), end);
        this.#open.delete(stream);
        break;
      case 'fails before it':
        send(goAway(stream - 1, internalError));
        far.end();
        break;
      case 'answers and closes':
        send(head(), end);
        far.end();
        break;
      case 'closes':
        far.destroy();
        break;
      case 'does nothing':
        break;
    }
  }
}

interface SharedByServers {
  readonly nextAct: () => readonly [Act, number];
  readonly writings: Writings;
}

/** How often a request may have been written before it is written again (`http2-pool.ts`, as Go's client). */
const mostBefore = { goneBy: 6, refused: 1 };

/** Never written twice, unless its server has said that it did nothing. */
function assertWrittenOnce(writings: readonly Writing[], seen: Seen, number: number): void {
  const name = `request ${number}`;
  for (const [before, { isDisowned, isGoneBy }] of writings.slice(0, -1).entries()) {
    assert.ok(isDisowned, `${name} is written twice: its server may have processed it`);
    const most = isGoneBy ? mostBefore.goneBy : mostBefore.refused;
    assert.ok(before < most, `${name} is written without an end`);
  }
  assert.ok(seen.isClosed, `${name} has no end`);
  const last = writings.at(-1);
  if (seen.isRefused === true)
    assert.ok(last?.isDisowned !== false, `${name} counts as not processed, and may have been`);
  if (seen.head === undefined) {
    assert.ok(!seen.isWhole);
    return;
  }
  assert.deepEqual(seen.head, [':status', '200', 'x-id', `${number}`], 'an answer of another request');
  assert.equal(last?.hasHead, true);
  if (seen.isWhole) assert.equal(seen.content.toString(), `answer ${number}`);
}

fuzz<Story>({
  name: 'http2-pool',
  runs: 150,
  arbitrary: fc.record({
    requests: fc.array(
      fc.record({ body: fc.constantFrom('none', 'bytes', 'kept'), later: fc.constantFrom(0, 0, 1, 7) }),
      { minLength: 1, maxLength: 6 },
    ),
    acts: fc.oneof(
      fc.array(
        fc.constantFrom<Act>(
          ...(['answers', 'answers in part', 'refuses', 'refuses behind its head', 'resets'] as const),
          ...(['goes away before it', 'goes away behind it', 'fails before it', 'closes'] as const),
          ...(['answers and closes', 'does nothing'] as const),
        ),
        { minLength: 1, maxLength: 8 },
      ),
      fc.array(fc.constantFrom<Act>('answers', 'goes away before it', 'goes away behind it'), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.array(fc.constantFrom<Act>('answers', 'refuses', 'goes away before it'), {
        minLength: 1,
        maxLength: 12,
      }),
    ),
    delays: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 8 }),
    maximumStreams: fc.constantFrom(1, 2, 100),
    cuts: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 3 }),
  }),
  async holds(story) {
    const { requests, acts, delays, cuts } = story;
    const writings: Writings = requests.map(() => []);
    let heads = 0;
    const nextAct = (): readonly [Act, number] => {
      const place = heads++;
      // Behind the last one all is answered: each request has an end.
      return [acts[place] ?? 'answers', delays[place % delays.length] ?? 0];
    };
    const pool = new Http2Pool('https://router', {
      async connect({ callback, buffer }) {
        const [near, far] = ConnectionEnd.pair(cuts);
        new Connection(near, far, story, { nextAct, writings });
        near.on('data', (piece: Buffer) => {
          assert.ok(buffer instanceof Uint8Array);
          buffer.set(piece);
          callback(piece.length, buffer);
        });
        // This socket stands for one of node:tls: no more is asked of it.
        return Object.assign(near, { alpnProtocol: 'h2', bytesRead: 0 }) as unknown as TLSSocket;
      },
    });
    const responses = requests.map(() => new Seen());
    for (const [number, { body, later }] of requests.entries()) {
      for (let turns = 0; turns < later; turns++) await turn();
      const seen = responses[number] ?? new Seen();
      const text = `body ${number}`;
      const content = body === 'none' ? undefined : body === 'bytes' ? Buffer.from(text) : new KeptBody(text);
      const listener = { ...listenerOf(seen), passOnTo: () => assert.fail('it is HTTP/2') };
      const method = body === 'none' ? 'GET' : 'POST';
      pool.submit({ method, target: `/${number}`, headers: [], content }, listener);
    }
    const isInGoodOrder =
      acts.length <= 6 && acts.every((act) => act === 'answers' || act.startsWith('goes away'));
    const mayStayOpen = acts.some((act) => act === 'does nothing' || act === 'answers in part');
    for (let turns = 0; turns < 400 && !responses.every(({ isClosed }) => isClosed); turns++) await turn();
    assert.ok(mayStayOpen || responses.every(({ isClosed }) => isClosed), 'a request waits for ever');
    await pool.destroy();
    for (let turns = 0; turns < 6; turns++) await turn();
    for (const [number, seen] of responses.entries()) {
      const written = writings[number] ?? [];
      assertWrittenOnce(written, seen, number);
      const body = requests[number]?.body === 'none' ? '' : bodyOf(number);
      for (const { content, hasEnd } of written) {
        assert.ok(body.startsWith(content), 'another body');
        assert.ok(!hasEnd || content === body, 'a part of a body for the whole');
      }
      if (isInGoodOrder)
        assert.ok(seen.isWhole, `request ${number} is given up, though it could be sent again`);
    }
  },
});
