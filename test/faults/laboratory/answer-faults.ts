import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { notServedStatus, shuttingDownStatus } from '../../../src/proxy/judge-response.ts';
import { eventually } from '../../support/eventually.ts';
import type { Asked, Script } from './asked.ts';
import { type Fault, withTimeouts } from './fault.ts';
import { continuation, goAway, head, unfinishedHead } from './http2-frames.ts';
import type { Laboratory } from './laboratory.ts';

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const part = '{"type":"ADDED"}\n{"type"';
/** Lines of about 1 KiB. */
const longLine = ['x-long', 'a'.repeat(1_000)] as const;

const impatient = withTimeouts({ responseHeader: 2_000, request: 5_000 });

/** Faults between the request and the head of its answer. */
const beforeTheHead: readonly Fault[] = [
  { name: 'says nothing', damage: 'silent', script: () => () => {}, configure: impatient },
  {
    name: 'sends interim heads for ever',
    damage: 'silent',
    script: () => interimForEver,
    configure: impatient,
  },
  { name: 'closes the connection', damage: 'unanswered', script: () => (asked) => asked.hangUp() },
  { name: 'resets the connection', damage: 'unanswered', script: () => (asked) => asked.cut() },
  {
    name: 'resets the stream',
    damage: 'unanswered',
    protocols: ['h2'],
    script: () => (asked) => asked.reset(),
  },
  {
    name: 'resets the stream with NO_ERROR',
    damage: 'unanswered',
    protocols: ['h2'],
    script: () => (asked) => asked.reset(NGHTTP2_NO_ERROR),
  },
  {
    name: 'refuses the stream',
    damage: 'refused',
    protocols: ['h2'],
    script: () => (asked) => asked.reset(NGHTTP2_REFUSED_STREAM),
  },
  {
    name: 'goes away and says that it has processed nothing',
    damage: 'refused',
    protocols: ['h2'],
    script: () => (asked) => {
      asked.seen.answer.refused = true;
      asked.raw(goAway(0, NGHTTP2_NO_ERROR));
    },
  },
  {
    name: 'answers in another protocol',
    damage: 'invalid',
    script: () => (asked) => asked.raw('SSH-2.0-OpenSSH_9.2p1\r\n\r\n'),
  },
  {
    name: 'switches protocols, which nobody asked for, and sends garbage',
    damage: 'invalid',
    script: () => switchProtocols,
  },
  {
    name: 'sends a head without an end',
    damage: 'invalid',
    script: () => headWithoutEnd,
  },
  {
    name: 'names two lengths',
    damage: 'invalid',
    protocols: ['http/1.1'],
    script: () => (asked) =>
      asked.raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc'),
  },
  {
    name: 'sends a bare line feed in its head',
    damage: 'invalid',
    protocols: ['http/1.1'],
    script: () => (asked) => asked.raw('HTTP/1.1 200 OK\r\nX-Test: a\nContent-Length: 0\r\n\r\n'),
  },
];

/** A server that has become another version than the snapshot says. */
const notServed: readonly Fault[] = [
  {
    name: 'has nothing under the group',
    damage: 'not-served',
    script: () => (asked) => answerNotServed(asked, '404 page not found\n', 'text/plain; charset=utf-8'),
  },
  {
    name: 'has the group in another version',
    damage: 'not-served',
    script: () => (asked) => answerNotServed(asked, notServedStatus, 'application/json'),
  },
];

/** As kube-apiserver does; nothing is carried out. */
export function answerNotServed(asked: Asked, content: string, contentType: string): void {
  refuse(asked, 404, content, { 'content-type': contentType });
}

/** As kube-apiserver does while its last requests are carried out. */
export const refuseAsItEnds: Script = (asked) =>
  refuse(asked, 503, shuttingDownStatus, { 'content-type': 'application/json', 'retry-after': '1' });

export function refuse(asked: Asked, code: number, content: string, lines: Record<string, string>): void {
  asked.seen.answer.refused = true;
  asked.begin(code, { ...lines, 'content-length': String(content.length) });
  asked.send(content);
  asked.end();
}

/** Faults behind the head of an answer. */
const behindTheHead: readonly Fault[] = [
  {
    name: 'begins an answer and says nothing more',
    damage: 'stuck',
    script: () => begin,
    // Long enough for the heads of nine answers on a busy machine.
    configure: withTimeouts({ request: 6_000 }),
    // Nothing of it depends on who the server is.
    places: ['peer'],
  },
  brokenOff('resets in the middle of its answer', (asked) => asked.reset()),
  brokenOff('closes the connection in the middle of its answer', (asked) => asked.hangUp()),
  brokenOff('resets the connection in the middle of its answer', (asked) => asked.cut()),
  // With it a server may end what nobody needs any more of an upload; an answer needs its END_STREAM.
  brokenOff(
    'resets the stream with NO_ERROR in the middle of its answer',
    (asked) => asked.reset(NGHTTP2_NO_ERROR),
    ['h2'],
  ),
  brokenOff(
    'goes away in the middle of its answer, and closes',
    (asked) => {
      asked.raw(goAway(asked.streamId, NGHTTP2_INTERNAL_ERROR));
      asked.hangUp();
    },
    ['h2'],
  ),
  brokenOff('sends a chunk without a size', (asked) => asked.raw('no size\r\n'), ['http/1.1']),
  brokenOff('sends frames of no known form', (asked) => asked.raw(Buffer.alloc(64, 0xff)), ['h2']),
  {
    name: 'announces more than it sends',
    damage: 'broken-off',
    script: (laboratory) => async (asked) => {
      asked.begin(200, { 'content-length': '1000' });
      asked.send(part);
      await untilClientHas(laboratory, asked);
      // END_STREAM where there are streams, the end of the connection elsewhere: both look orderly.
      if (asked.protocol === 'h2') asked.end();
      else asked.hangUp();
      asked.seen.answer.end = 'broken';
    },
  },
  {
    name: 'sends more than it announces',
    damage: 'broken-off',
    protocols: ['h2'],
    script: (laboratory) => async (asked) => {
      asked.begin(200, { 'content-length': String(part.length) });
      asked.send(part.slice(0, -1));
      await untilClientHas(laboratory, asked);
      asked.send('and more');
      asked.end();
      asked.seen.answer.end = 'broken';
    },
  },
];

/** Strange, and to be understood all the same. */
const oddities: readonly Fault[] = [
  // A thousand packets, whoever the server is.
  { name: 'answers byte by byte', damage: 'none', script: () => byteByByte, places: ['peer'] },
  {
    name: 'goes away in the middle of an answer that it brings to its end',
    damage: 'none',
    protocols: ['h2'],
    script: (laboratory) => async (asked) => {
      begin(asked);
      await untilClientHas(laboratory, asked);
      asked.raw(goAway(asked.streamId, NGHTTP2_NO_ERROR));
      asked.send(':"MODIFIED"}\n');
      asked.end();
    },
  },
  {
    name: 'announces its answer in an interim head',
    damage: 'none',
    script: () => (asked) => {
      if (asked.protocol === 'h2') asked.raw(head(asked.streamId, [':status', '103', 'link', '</a>']));
      else asked.raw('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      begin(asked);
      asked.send(':"MODIFIED"}\n');
      asked.end();
    },
  },
  {
    name: 'sends another answer behind its answer, which nobody asked for',
    damage: 'none',
    protocols: ['http/1.1'],
    script: () => (asked) => {
      const { answer } = asked.seen;
      Object.assign(answer, { status: 200, content: 'hello\n', end: 'whole' });
      asked.raw(
        'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged',
      );
    },
  },
];

export const answerFaults: readonly Fault[] = [...beforeTheHead, ...notServed, ...behindTheHead, ...oddities];

function brokenOff(name: string, breakOff: Script, protocols?: Fault['protocols']): Fault {
  return {
    name,
    damage: 'broken-off',
    ...(protocols === undefined ? {} : { protocols }),
    script: (laboratory) => async (asked) => {
      begin(asked);
      await untilClientHas(laboratory, asked);
      await breakOff(asked);
      asked.seen.answer.end = 'broken';
    },
  };
}

function begin(asked: Asked): void {
  asked.begin(200, { 'content-type': 'application/json' });
  asked.send(part);
}

/** Bytes in flight when a connection is reset need not arrive. */
async function untilClientHas(laboratory: Laboratory, { seen }: Asked): Promise<void> {
  const { requestId, answer } = seen;
  await eventually(() =>
    laboratory.answers.some((each) => each.requestId === requestId && each.content === answer.content),
  );
}

async function interimForEver(asked: Asked): Promise<void> {
  while (!asked.seen.isOver) {
    if (asked.protocol === 'h2') asked.raw(head(asked.streamId, [':status', '103', ...longLine]));
    else asked.raw(`HTTP/1.1 103 Early Hints\r\n${longLine.join(': ')}\r\n\r\n`);
    // Few enough not to be too much together before the time is over.
    await sleep(250);
  }
}

function switchProtocols(asked: Asked): void {
  if (asked.protocol === 'h2') asked.raw(head(asked.streamId, [':status', '101', 'x-test', 'garbage']));
  else asked.raw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n\0garbage');
}

/** Ends when the connection does. */
async function headWithoutEnd(asked: Asked): Promise<void> {
  const lines = Array.from({ length: 15 }, () => longLine).flat();
  const http1Lines = Array.from({ length: 15 }, () => `${longLine.join(': ')}\r\n`).join('');
  if (asked.protocol === 'h2') asked.raw(unfinishedHead(asked.streamId, [':status', '200']));
  else asked.raw('HTTP/1.1 200 OK\r\n');
  while (!asked.seen.isOver) {
    asked.raw(asked.protocol === 'h2' ? continuation(asked.streamId, lines) : http1Lines);
    await sleep(0);
  }
}

async function byteByByte(asked: Asked): Promise<void> {
  const content = '{"type":"ADDED"}\n';
  if (asked.protocol === 'h2') {
    asked.begin(200);
    for (const byte of content) {
      asked.send(byte);
      await sleep(0);
    }
    asked.end();
    return;
  }
  const chunks = `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r`;
  for (const byte of `HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`) {
    asked.raw(byte);
    await sleep(0);
  }
  Object.assign(asked.seen.answer, { status: 200, content, end: 'whole' });
  asked.raw('\n');
  asked.hangUp();
}
