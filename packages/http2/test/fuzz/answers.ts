import fc from 'fast-check';
import { HpackWriter } from '../hpack.ts';
import { frame, frameFlag, frameType, uint32 } from '../raw-http2.ts';
import { cancel, refusedStream } from './exchanges.ts';
import { settings, windowUpdate } from './frames.ts';

/** RFC 9113 section 7. */
const noError = 0;
const internalError = 2;

/** Answers that no server may give (RFC 9113 section 8). */
const malformed: readonly Step[] = [
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      ['content-length', '0'],
      ['content-length', '0'],
    ],
    ends: true,
  },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      ['content-length', '+0'],
    ],
    ends: true,
  },
  { kind: 'head', lines: [['x-a', 'b']], ends: true },
  { kind: 'head', lines: [[':status', '20']], ends: true },
  { kind: 'head', lines: [[':status', '103']], ends: true },
  { kind: 'head', lines: [[':status', '101']], ends: false },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      [':status', '200'],
    ],
    ends: true,
  },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      [':path', '/'],
    ],
    ends: true,
  },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      ['X-A', 'b'],
    ],
    ends: true,
  },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      ['connection', 'x-a'],
    ],
    ends: true,
  },
  {
    kind: 'head',
    lines: [
      [':status', '200'],
      ['x-a', 'b\r\nc'],
    ],
    ends: true,
  },
  { kind: 'content', bytes: Buffer.from('a'), ends: false },
  { kind: 'content', bytes: Buffer.from('a'), ends: true },
];
/** Nor may these come behind its head. */
const malformedLater: readonly Step[] = [
  { kind: 'head', lines: [[':status', '200']], ends: true },
  { kind: 'head', lines: [['x-trailer', 'a']], ends: false },
  { kind: 'head', lines: [['X-Trailer', 'a']], ends: true },
];

/** The steps of a server with one request, in this order, as far as it gets. */
interface Answer {
  readonly interims: number;
  readonly status: number;
  readonly lines: readonly (readonly [string, string])[];
  /** Bytes of its DATA frames. */
  readonly content: readonly number[];
  /** By how many bytes its Content-Length is wrong; `null`: it has none. */
  readonly lengthOff: number | null;
  /** Padding of each DATA frame; `null`: none, and no byte that says so. */
  readonly padding: number | null;
  readonly ends: 'whole' | 'with trailers' | 'reset' | 'never';
  readonly resetCode: number;
  /** So many steps are left out in front of the last one. */
  readonly isCut: number;
  /** Frames in place of its head, or behind one, that must not be taken. */
  readonly fault: { readonly step: Step; readonly isLater: boolean } | null;
}

type Step =
  | { readonly kind: 'interim' }
  | { readonly kind: 'head'; readonly lines: readonly (readonly [string, string])[]; readonly ends: boolean }
  | { readonly kind: 'content'; readonly bytes: Buffer; readonly ends: boolean }
  | { readonly kind: 'trailers' }
  | { readonly kind: 'reset'; readonly code: number }
  | { readonly kind: 'fault'; readonly step: Step };

/** The outcome that a client must see of the answer to one request. */
export interface Expected {
  head: readonly string[] | undefined;
  content: Buffer;
  end: 'none' | 'whole' | 'failed';
  /** True: the server has said that it has not processed the request (RFC 9113 section 8.7). */
  isRefused: boolean;
}

export const methods = ['GET', 'HEAD', 'POST'] as const;

/** Frames with which a server ends the connection, and the code of the client's GOAWAY (sections 5.1, 6 and 8.4). */
const frameFaults: readonly (readonly [code: number, bytes: Buffer])[] = [
  [1, settings(2, 1)],
  [3, settings(4, 2 ** 31)],
  [1, settings(5, 1)],
  [6, frame(frameType.settings, frameFlag.none, 0, Buffer.alloc(5))],
  [1, frame(frameType.pushPromise, frameFlag.endHeaders, 1, uint32(2))],
  [1, frame(frameType.headers, frameFlag.endHeaders, 2, Buffer.from([0x88]))],
  [1, frame(frameType.data, frameFlag.none, 99, Buffer.from('a'))],
  [1, frame(frameType.data, frameFlag.none, 0, Buffer.from('a'))],
  [1, windowUpdate(0, 0)],
  [6, frame(frameType.ping, frameFlag.none, 0, Buffer.alloc(7))],
  [6, frame(frameType.goAway, frameFlag.none, 0, Buffer.alloc(7))],
  [6, frame(frameType.rstStream, frameFlag.none, 1, Buffer.alloc(3))],
  [1, frame(frameType.continuation, frameFlag.endHeaders, 1, Buffer.from([0x88]))],
  [9, frame(frameType.headers, frameFlag.endHeaders, 1, Buffer.from([0x80]))],
];

const answer: fc.Arbitrary<Answer> = fc.record({
  interims: fc.constantFrom(0, 0, 1, 2),
  status: fc.constantFrom(200, 200, 200, 404, 503, 204, 304),
  lines: fc.array(
    fc.tuple(
      fc.constantFrom('etag', 'x-a', 'www-authenticate', 'cache-control'),
      fc.constantFrom('', 'a', 'no-cache, private'),
    ),
    { maxLength: 4 },
  ),
  content: fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 3 }),
  lengthOff: fc.constantFrom(null, null, 0, 0, -1, 1),
  padding: fc.constantFrom(null, null, 0, 1, 100),
  ends: fc.constantFrom('whole', 'whole', 'with trailers', 'reset', 'reset', 'never'),
  resetCode: fc.constantFrom(refusedStream, refusedStream, internalError, cancel, noError),
  isCut: fc.constantFrom(0, 0, 0, 1, 2, 9),
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...malformed).map((step) => ({ step, isLater: false })) },
      fc.constantFrom(...malformedLater).map((step) => ({ step, isLater: true })),
    ),
  ),
});

function contentOf(sizes: readonly number[], stream: number): Buffer[] {
  return sizes.map((size, index) => Buffer.alloc(size, `${stream} ${index} `));
}

function stepsOf(made: Answer, stream: number): Step[] {
  const { interims, status, content, lengthOff, ends, resetCode, isCut, fault } = made;
  const length = content.reduce((sum, each) => sum + each, 0);
  const said: [string, string][] =
    lengthOff === null ? [] : [['content-length', String(Math.max(0, length + lengthOff))]];
  const isEmpty = ends === 'whole' && content.length === 0;
  const steps: Step[] = Array.from({ length: interims }, () => ({ kind: 'interim' }));
  if (fault !== null) {
    if (fault.isLater) steps.push({ kind: 'head', lines: [[':status', '200']], ends: false });
    return [...steps, { kind: 'fault', step: fault.step }];
  }
  steps.push({ kind: 'head', lines: [[':status', String(status)], ...made.lines, ...said], ends: isEmpty });
  for (const [index, bytes] of contentOf(content, stream).entries())
    steps.push({ kind: 'content', bytes, ends: ends === 'whole' && index === content.length - 1 });
  if (ends === 'with trailers') steps.push({ kind: 'trailers' });
  if (ends !== 'reset') return steps;
  // A reset may come at any time, before the head as well.
  return [...steps.slice(0, Math.max(0, steps.length - isCut)), { kind: 'reset', code: resetCode }];
}

/** How a client reads these steps (RFC 9113 section 8.1). */
class Reading {
  readonly expected: Expected = { head: undefined, content: Buffer.alloc(0), end: 'none', isRefused: false };
  readonly #method: string;
  #length: number | undefined;

  constructor(method: string) {
    this.#method = method;
  }

  take(step: Step): void {
    if (this.expected.end !== 'none') return;
    switch (step.kind) {
      case 'interim':
        return;
      case 'head': {
        const head = step.lines.flat();
        this.expected.head = head;
        const at = head.indexOf('content-length');
        const hasNoContent = this.#method === 'HEAD' || head[1] === '204' || head[1] === '304';
        this.#length = hasNoContent ? 0 : at === -1 ? undefined : Number(head[at + 1]);
        if (step.ends) this.#ended();
        return;
      }
      case 'content':
        this.expected.content = Buffer.concat([this.expected.content, step.bytes]);
        if (this.#length !== undefined && this.expected.content.length > this.#length) this.failed(false);
        else if (step.ends) this.#ended();
        return;
      case 'trailers':
        this.#ended();
        return;
      case 'reset':
        this.failed(step.code === refusedStream);
        return;
      case 'fault':
        this.failed(false);
    }
  }

  #ended(): void {
    const { content } = this.expected;
    // Section 8.1.1.
    if (content.length === (this.#length ?? content.length)) this.expected.end = 'whole';
    else this.failed(false);
  }

  /** @param isRefused counts before a head alone: after it the request was processed, whatever the server says */
  failed(isRefused: boolean): void {
    if (this.expected.end !== 'none') return;
    this.expected.end = 'failed';
    this.expected.isRefused = isRefused && this.expected.head === undefined;
  }
}

function framesOf(step: Step, stream: number, writer: HpackWriter, padding: number | null): Buffer {
  const block = (lines: readonly (readonly [string, string])[]): Buffer =>
    Buffer.concat(
      lines.map(([name, value]) =>
        writer.line({ name, value, form: 'indexed', isNamedByIndex: true, isHuffman: false }),
      ),
    );
  const { endHeaders, endStream, none, padded } = frameFlag;
  switch (step.kind) {
    case 'interim':
      return frame(frameType.headers, endHeaders, stream, block([[':status', '103']]));
    case 'head':
      return frame(frameType.headers, endHeaders | (step.ends ? endStream : none), stream, block(step.lines));
    case 'content': {
      const payload =
        padding === null
          ? step.bytes
          : Buffer.concat([Buffer.from([padding]), step.bytes, Buffer.alloc(padding)]);
      const flags = (step.ends ? endStream : none) | (padding === null ? none : padded);
      return frame(frameType.data, flags, stream, payload);
    }
    case 'trailers':
      return frame(frameType.headers, endHeaders | endStream, stream, block([['x-trailer', 'a']]));
    case 'reset':
      return frame(frameType.rstStream, none, stream, uint32(step.code));
    case 'fault':
      return framesOf(step.step, stream, writer, padding);
  }
}

/** Answers to three requests, woven into one another, perhaps with a GOAWAY in between; and what must come of each. */
export const wovenAnswers = fc
  .record({
    answers: fc.tuple(answer, answer, answer),
    order: fc.array(fc.nat({ max: 2 }), { minLength: 3, maxLength: 24 }),
    goAway: fc.option(
      fc.record({
        behind: fc.nat({ max: 12 }),
        last: fc.constantFrom(0, 1, 3, 5, 2 ** 31 - 1),
        code: fc.constantFrom(noError, noError, internalError),
      }),
      { freq: 3 },
    ),
    ending: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, fc.constantFrom(...frameFaults)),
  })
  .map(({ answers, order, goAway, ending }) => {
    const writer = new HpackWriter();
    const left = answers.map((each, index) => stepsOf(each, 2 * index + 1));
    const readings = methods.map((method) => new Reading(method));
    const frames: Buffer[] = [frame(frameType.settings, frameFlag.none, 0)];
    const sequence = [...order, ...[0, 1, 2].flatMap((index) => Array<number>(9).fill(index))];
    for (const [place, index] of sequence.entries()) {
      if (place === goAway?.behind) {
        const { last, code } = goAway;
        frames.push(frame(frameType.goAway, frameFlag.none, 0, uint32(last, code)));
        for (const [at, reading] of readings.entries()) if (2 * at + 1 > last) reading.failed(true);
      }
      const step = left[index]?.shift();
      if (step === undefined) continue;
      frames.push(framesOf(step, 2 * index + 1, writer, answers[index]?.padding ?? null));
      readings[index]?.take(step);
    }
    // After a GOAWAY it may be over already.
    const [code, fault] = goAway === null && ending !== null ? ending : [null, Buffer.alloc(0)];
    if (code !== null) for (const reading of readings) reading.failed(false);
    const expected = readings.map((reading) => reading.expected);
    return { bytes: Buffer.concat([...frames, fault]).toString('latin1'), expected, code };
  });
