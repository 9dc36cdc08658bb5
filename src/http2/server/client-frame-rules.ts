import { errorCode } from '../frames/frame.ts';
import {
  type FrameRules,
  ignore,
  ignoreAndCount,
  onAnyStream,
  onConnection,
  protocolError,
  streamError,
  take,
  takeAndCount,
} from '../frames/frame-rules.ts';

const idle = 'idle frames';
const streamClosed = streamError(errorCode.streamClosed);

/**
 * What each frame of a client does, and which budget counts it. src/http2/frames.md shows this table;
 * `client-frame-rules.test.ts` tests every cell.
 */
export const clientFrameRules: FrameRules = {
  DATA: {
    connection: protocolError,
    // RFC 9113 section 5.1, "idle".
    idle: protocolError,
    open: take,
    // RFC 9113 section 6.1.
    'half-closed': streamClosed,
    // RFC 9113 section 5.1, "closed": it crossed our RST_STREAM. At most what the stream's window still allowed.
    'closed by us': ignore,
    closed: streamClosed,
    // RFC 9113 section 6.8.
    'after our GOAWAY': ignore,
  },
  'DATA with little content': {
    connection: protocolError,
    idle: protocolError,
    open: takeAndCount('small data'),
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount('small data'),
    closed: streamClosed,
    'after our GOAWAY': ignoreAndCount('small data'),
  },
  // CVE-2019-9518. Padding does not count as content.
  'DATA without content or end': {
    connection: protocolError,
    idle: protocolError,
    open: takeAndCount(idle),
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount(idle),
    closed: streamClosed,
    'after our GOAWAY': ignoreAndCount(idle),
  },
  'HEADERS of a message': {
    connection: protocolError,
    idle: take,
    // A second head is malformed, read as trailers (RFC 9113 section 8.1).
    open: streamError(errorCode.protocolError),
    'half-closed': streamClosed,
    // RFC 9113 section 5.1.1: the identifier was used before, or is lower than one that was.
    'closed by us': protocolError,
    closed: protocolError,
    'after our GOAWAY': ignoreAndCount(idle),
  },
  'HEADERS of trailers': {
    connection: protocolError,
    // A request without a method.
    idle: streamError(errorCode.protocolError),
    open: take,
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount(idle),
    closed: streamClosed,
    'after our GOAWAY': ignoreAndCount(idle),
  },
  // RFC 9113 section 6.10. CONTINUATION within a block is handled with HEADERS.
  'CONTINUATION of nothing': onAnyStream(protocolError),
  // RFC 9113 section 5.3.2: priorities are ignored.
  PRIORITY: onAnyStream(ignoreAndCount(idle), { connection: protocolError }),
  RST_STREAM: {
    connection: protocolError,
    idle: protocolError,
    // CVE-2023-44487: the work done for it was wasted.
    open: takeAndCount('resets'),
    'half-closed': takeAndCount('resets'),
    // It crossed the end of our response, or our own RST_STREAM.
    'closed by us': ignoreAndCount(idle),
    closed: ignoreAndCount(idle),
    'after our GOAWAY': ignoreAndCount(idle),
  },
  // CVE-2019-9515. The first SETTINGS is not counted.
  SETTINGS: onConnection(takeAndCount(idle)),
  'SETTINGS that acknowledge': onConnection(ignoreAndCount(idle)),
  // RFC 9113 section 8.4.
  PUSH_PROMISE: onAnyStream(protocolError),
  // CVE-2019-9512.
  PING: onConnection(takeAndCount(idle)),
  // We send no PING.
  'PING that acknowledges': onConnection(ignoreAndCount(idle)),
  GOAWAY: onConnection(takeAndCount(idle)),
  WINDOW_UPDATE: {
    connection: takeAndCount('window updates'),
    idle: protocolError,
    open: takeAndCount('window updates'),
    'half-closed': takeAndCount('window updates'),
    'closed by us': ignoreAndCount('window updates'),
    closed: ignoreAndCount('window updates'),
    'after our GOAWAY': ignoreAndCount('window updates'),
  },
  // RFC 9113 section 5.5.
  'of an unknown type': onAnyStream(ignoreAndCount(idle)),
};
