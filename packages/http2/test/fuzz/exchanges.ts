import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { headerLine } from './header-lines.ts';

/** A request and its response, as both ends are told to go about them. */
export interface Exchange {
  readonly method: string;
  readonly requestLines: readonly (readonly [string, string])[];
  /** Bytes of each piece of its content. */
  readonly upload: readonly number[];
  /** `held back`: the content has no end before the response has. `reset`: the client resets the stream behind it. */
  readonly uploadEnds: 'whole' | 'held back' | 'reset';
  readonly status: number;
  readonly responseLines: readonly (readonly [string, string])[];
  readonly download: readonly number[];
  /** `reset`: behind the content, `refused`: before the head. */
  readonly downloadEnds: 'whole' | 'reset' | 'refused';
  /** The server waits for the end of the request. */
  readonly isPatient: boolean;
  readonly hasInterim: boolean;
  readonly hasTrailers: boolean;
  /** True if Content-Length says how long the content is. */
  readonly declaresLength: boolean;
  /** For so many turns of the event loop nobody reads what comes. */
  readonly pause: number;
}

export interface Conversation {
  /** The side of packages/http2; Node's engine, nghttp2, has the other one. */
  readonly ours: 'client' | 'server';
  /** Exchanges that begin together, when those before are over. */
  readonly groups: readonly (readonly Exchange[])[];
  /** Bytes: SETTINGS_INITIAL_WINDOW_SIZE of Node's side, and what it is changed to in each group. */
  readonly windows: readonly [number, number, number];
  /** Bytes: the window of a stream of ours. */
  readonly ourWindow: number;
  /** SETTINGS_HEADER_TABLE_SIZE of Node's side, and the size that its encoder keeps to. */
  readonly tables: readonly [number, number];
  readonly isPadded: boolean;
  /** True if a server of Node sends GOAWAY in the last group, which names the group's first stream as the last one. */
  readonly goesAway: boolean;
  readonly cuts: readonly number[];
}

/** One end's view of the other's message. */
export class Seen {
  /** Name, value, name, value, …, pseudo-header fields among them. */
  head: readonly string[] | undefined;
  /** Names of the lines that nobody may index (RFC 7541 section 6.2.3). */
  neverIndexed: readonly string[] | undefined;
  readonly pieces: Buffer[] = [];
  /** True if the end of the message was seen, and was no reset. */
  isWhole = false;
  /** RFC 9113 section 7. */
  code: number | undefined;
  /** True if the server has not processed the request, as a client of ours is told. */
  isRefused: boolean | undefined;
  isClosed = false;

  get content(): Buffer {
    return Buffer.concat(this.pieces);
  }
}

export interface Outcome {
  readonly exchange: Exchange;
  /** As the server has seen it. */
  readonly request: Seen;
  /** As the client has seen it. */
  readonly response: Seen;
  /** Behind the last stream that a GOAWAY names. */
  readonly isLate: boolean;
}

/** One with nothing to it. */
export const plainExchange: Exchange = {
  ...{ method: 'GET', requestLines: [], upload: [], uploadEnds: 'whole', status: 200, responseLines: [] },
  ...{ download: [], downloadEnds: 'whole', isPatient: false, hasInterim: false, hasTrailers: false },
  ...{ declaresLength: false, pause: 0 },
};

/** A pause without an end. */
export const never = Number.POSITIVE_INFINITY;

export const cancel = 8;
export const refusedStream = 7;
export const authority = 'router';

const all = Buffer.from(Array.from({ length: 400_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));

/** Content in its pieces: each byte tells its place. */
export function contentOf(pieces: readonly number[]): Buffer[] {
  let offset = 0;
  return pieces.map((length) => {
    offset += length;
    return all.subarray(offset - length, offset);
  });
}

export function requestLinesOf({ requestLines, declaresLength, upload, uploadEnds }: Exchange): string[] {
  return withLength(requestLines, declaresLength, uploadEnds === 'whole' ? upload : [...upload, 1]);
}

export function responseLinesOf({
  responseLines,
  declaresLength,
  download,
  downloadEnds,
}: Exchange): string[] {
  return withLength(responseLines, declaresLength, downloadEnds === 'reset' ? [...download, 1] : download);
}

/** Header lines, with Content-Length where it is declared. */
function withLength(
  lines: readonly (readonly [string, string])[],
  isDeclared: boolean,
  pieces: readonly number[],
): string[] {
  const length = pieces.reduce((sum, each) => sum + each, 0);
  return [...lines.flat(), ...(isDeclared && length > 0 ? ['content-length', String(length)] : [])];
}

/** Pseudo-header fields included. @param number tells it from the others of its connection */
export const requestHeadOf = (exchange: Exchange, number: number): string[] => [
  ...[':method', exchange.method, ':scheme', 'https', ':authority', authority, ':path', `/${number}`],
  ...requestLinesOf(exchange),
];

const windowSize = fc.constantFrom(1_000, 16_384, 65_535, 200_000);
/** No line twice, but for those that may be. */
const lines = fc
  .array(
    fc.oneof({ weight: 6, arbitrary: headerLine }, fc.constant(['x-long', 'l'.repeat(17_000)] as const)),
    {
      maxLength: 8,
    },
  )
  .map((each) =>
    each.filter(
      ([name], index) => name.startsWith('x-') || each.findIndex(([other]) => other === name) === index,
    ),
  );
const cookies = fc.array(fc.constantFrom('a=b', 'c=d; e=f'), { maxLength: 3 });
const pieces = fc.array(fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 70_000 })), {
  maxLength: 4,
});

/** Bytes: our client sends no larger head to a server that announces no limit. */
const maximumHead = 60_000;

function withinHead(lines: Exchange['requestLines']): Exchange['requestLines'] {
  let size = 0;
  return lines.filter(([name, value]) => {
    size += name.length + value.length + 32;
    return size <= maximumHead;
  });
}

const exchange: fc.Arbitrary<Exchange> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH'),
    requestLines: fc
      .tuple(lines, cookies)
      .map(([each, values]) => withinHead([...each, ...values.map((value) => ['cookie', value] as const)])),
    upload: pieces,
    uploadEnds: fc.constantFrom('whole', 'whole', 'whole', 'held back', 'reset'),
    status: fc.constantFrom(200, 200, 201, 204, 304, 404, 418, 503),
    responseLines: lines,
    download: pieces,
    downloadEnds: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'reset', 'refused'),
    isPatient: fc.boolean(),
    hasInterim: fc.boolean(),
    hasTrailers: fc.boolean(),
    declaresLength: fc.boolean(),
    pause: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 30 })),
  })
  .map((made) => {
    const hasUpload = /^P/.test(made.method);
    const hasDownload = made.method !== 'HEAD' && made.status !== 204 && made.status !== 304;
    return {
      ...made,
      upload: hasUpload ? made.upload : [],
      uploadEnds: hasUpload ? made.uploadEnds : 'whole',
      download: hasDownload ? made.download : [],
      downloadEnds: made.downloadEnds === 'reset' && !hasDownload ? 'whole' : made.downloadEnds,
      // Node may send an end in front of its reset: only by the length can that be told from a whole request.
      declaresLength: made.declaresLength || made.uploadEnds === 'reset' || made.downloadEnds === 'reset',
      isPatient: made.isPatient && made.uploadEnds === 'whole',
      hasTrailers: made.hasTrailers && hasDownload && made.downloadEnds === 'whole',
    } as const;
  });

export const conversations: fc.Arbitrary<Conversation> = fc
  .record({
    ours: fc.constantFrom('client', 'server'),
    groups: fc.array(fc.array(exchange, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
    windows: fc.tuple(windowSize, windowSize, windowSize),
    ourWindow: fc.constantFrom(65_536, 131_072),
    tables: fc.tuple(fc.constantFrom(0, 100, 4_096, 65_536), fc.constantFrom(0, 200, 4_096)),
    isPadded: fc.boolean(),
    goesAway: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
    cuts: fc.array(fc.integer({ min: 1, max: 20_000 }), { maxLength: 3 }),
  })
  .map((made) => ({
    ...made,
    // The first stream of the last group is one that arrives.
    goesAway: made.goesAway && made.ours === 'client' && made.groups.at(-1)?.[0]?.uploadEnds !== 'reset',
  }));

/** Goes on when all of them are over, at both ends. @param check is called in each turn */
export async function allOver(outcomes: readonly Outcome[], check: (turns: number) => void): Promise<void> {
  for (let turns = 1; turns < 5_000; turns++) {
    check(turns);
    if (outcomes.every(({ request, response, isLate }) => response.isClosed && (request.isClosed || isLate)))
      return;
    await turn();
  }
  assert.fail('an exchange does not come to its end');
}

function assertBegins(content: Buffer, sent: readonly number[], isWhole: boolean): void {
  const whole = Buffer.concat(contentOf(sent));
  assert.ok(whole.subarray(0, content.length).equals(content), 'other content');
  if (isWhole) assert.equal(content.length, whole.length, 'a part for the whole');
}

/** Compares what was seen at one end with what was sent at the other. */
export function assertHolds(
  { exchange, request, response, isLate }: Outcome,
  requestHead: readonly string[],
): void {
  const { uploadEnds, downloadEnds, upload, download, isPatient } = exchange;
  // The client resets the stream as soon as all is written: the server may have seen nothing of it.
  const isCancelled = uploadEnds === 'reset';
  if (isLate) {
    assert.ok(response.isRefused === true || isCancelled, 'the server has not processed it');
    return;
  }
  if (request.head === undefined) assert.ok(isCancelled, 'a request is lost');
  else assert.deepEqual(request.head, requestHead);
  assertBegins(request.content, upload, request.isWhole);
  if (uploadEnds !== 'whole') assert.ok(!request.isWhole, 'a request without its end seems whole');
  if (isPatient && downloadEnds === 'whole') assert.ok(request.isWhole, 'a request seems not whole');

  assertBegins(response.content, download, response.isWhole);
  const head = [':status', String(exchange.status), ...responseLinesOf(exchange)];
  if (response.head !== undefined) assert.deepEqual(response.head, head);
  if (downloadEnds === 'whole' && !isCancelled) assert.ok(response.isWhole, 'a response breaks off');
  if (downloadEnds !== 'whole') assert.ok(!response.isWhole, 'a response without its end seems whole');
  if (downloadEnds === 'refused') assert.equal(response.head, undefined);
  if (response.isRefused !== undefined && !isCancelled) {
    assert.equal(response.isRefused, downloadEnds === 'refused', 'whether the server has processed it');
  }
}
