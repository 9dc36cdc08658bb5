import { frameFlag, frameHead, frameType, headersFrames, uint32 } from '../../packages/http2/frames/frame.ts';
import { indexedLine, literalName, literalValue } from '../../packages/http2/hpack/header-encoder.ts';

/** The deeds of one attacker, on so many connections at a time; a connection that ends is followed by another. */
export interface Flood {
  readonly title: string;
  readonly protocol: 'h2' | 'http/1.1';
  readonly connections: number;
  /** True if a connection that ends is followed by another. */
  readonly connectsAnew: boolean;
  /** Bytes that a connection begins with, behind preface and SETTINGS. */
  readonly opening: string;
  /** Bytes that are written again and again, and how many times `unit` stands in it. `round` counts from 0. */
  readonly batch: (round: number) => { readonly bytes: string; readonly units: number };
  /** Batches of a connection at the most. */
  readonly rounds: number;
  /** The unit that is counted. */
  readonly unit: string;
}

const { none, ack, padded } = frameFlag;
const { data, settings, rstStream, ping, goAway, windowUpdate, headers, continuation } = frameType;
const inBatch = 200;
const endless = Number.POSITIVE_INFINITY;

const requestBlock =
  indexedLine(':method', 'GET') +
  indexedLine(':scheme', 'https') +
  indexedLine(':path', '/') +
  literalName(':authority') +
  literalValue('localhost');
const uploadBlock = requestBlock.replace(indexedLine(':method', 'GET'), indexedLine(':method', 'POST'));

function repeated(title: string, frame: string, opening = ''): Flood {
  return {
    title,
    protocol: 'h2',
    connections: 1,
    connectsAnew: true,
    opening,
    batch: () => ({ bytes: frame.repeat(inBatch), units: inBatch }),
    rounds: endless,
    unit: 'frames',
  };
}

const piece = 'a'.repeat(16_384);
/** A mebibyte of it, and no end. */
const mebibyte = 64;
const closed = headersFrames(1, requestBlock, true) + frameHead(4, rstStream, none, 1) + uint32(8);
const open = headersFrames(1, uploadBlock, false);

export const floods: readonly Flood[] = [
  {
    title: '1,000 unfinished heads, HTTP/2',
    protocol: 'h2',
    connections: 1_000,
    connectsAnew: false,
    opening: frameHead(requestBlock.length, headers, none, 1) + requestBlock,
    // A literal line that is as long as all that follows.
    batch: () => ({ bytes: frameHead(piece.length, continuation, none, 1) + piece, units: 1 }),
    rounds: mebibyte,
    unit: 'pieces of 16 KiB',
  },
  {
    title: '1,000 unfinished heads, HTTP/1.1',
    protocol: 'http/1.1',
    connections: 1_000,
    connectsAnew: false,
    opening: 'GET / HTTP/1.1\r\nHost: localhost\r\n',
    batch: (round) => ({ bytes: `x-${round}: ${piece}\r\n`, units: 1 }),
    rounds: mebibyte - 1,
    unit: 'pieces of 16 KiB',
  },
  repeated('WINDOW_UPDATE of the connection', frameHead(4, windowUpdate, none, 0) + uint32(1)),
  repeated('WINDOW_UPDATE of a closed stream', frameHead(4, windowUpdate, none, 1) + uint32(1), closed),
  repeated('RST_STREAM on a closed stream', frameHead(4, rstStream, none, 1) + uint32(8), closed),
  repeated('DATA on a closed stream', `${frameHead(1, data, none, 1)}a`, closed),
  repeated('DATA that is padding alone', `${frameHead(2, data, padded, 1)}\x01\x00`, open),
  repeated('SETTINGS acknowledgements', frameHead(0, settings, ack, 0)),
  repeated('PING', frameHead(8, ping, none, 0) + uint32(0) + uint32(0)),
  repeated('GOAWAY', frameHead(8, goAway, none, 0) + uint32(0) + uint32(0), open),
  {
    title: 'resets, connecting anew',
    protocol: 'h2',
    connections: 8,
    connectsAnew: true,
    opening: '',
    batch: (round) => {
      let bytes = '';
      for (let index = 0; index < inBatch; index++) {
        const stream = 2 * (round * inBatch + index) + 1;
        bytes +=
          headersFrames(stream, requestBlock, true) + frameHead(4, rstStream, none, stream) + uint32(8);
      }
      return { bytes, units: inBatch };
    },
    rounds: endless,
    unit: 'resets',
  },
  ...(['lines', 'trailers'] as const).map(
    (kind): Flood => ({
      title: `answers with ${kind === 'lines' ? '200,000 lines' : '3 MB of trailers'}`,
      protocol: 'http/1.1',
      connections: 20,
      connectsAnew: false,
      opening: '',
      batch: () => ({ bytes: `GET /hostile/${kind} HTTP/1.1\r\nHost: a\r\n\r\n`, units: 1 }),
      rounds: 1,
      unit: 'requests',
    }),
  ),
];
