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
 * What frames of clients do, and which budget counts them. Written into docs/explanation/http2-frames.md, and tried
 * cell by cell by `client-frame-rules.test.ts`.
 */
export const clientFrameRules: FrameRules = {
  DATA: {
    connection: protocolError,
    // RFC 9113 section 5.1, "idle".
    idle: protocolError,
    open: take,
    // RFC 9113 section 6.1.
    'half-closed': streamClosed,
    // RFC 9113 section 5.1, "closed": it crossed our RST_STREAM. As much as the stream still granted.
    'closed by us': ignore,
    closed: streamClosed,
    // RFC 9113 section 6.8.
    'behind our GOAWAY': ignore,
  },
  'DATA with little content': {
    connection: protocolError,
    idle: protocolError,
    open: takeAndCount('small data'),
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount('small data'),
    closed: streamClosed,
    'behind our GOAWAY': ignoreAndCount('small data'),
  },
  // CVE-2019-9518. Padding is no content.
  'DATA without content or end': {
    connection: protocolError,
    idle: protocolError,
    open: takeAndCount(idle),
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount(idle),
    closed: streamClosed,
    'behind our GOAWAY': ignoreAndCount(idle),
  },
  'HEADERS of a message': {
    connection: protocolError,
    idle: take,
    // A second head: as trailers it is malformed (RFC 9113 section 8.1).
    open: streamError(errorCode.protocolError),
    'half-closed': streamClosed,
    // RFC 9113 section 5.1.1: an identifier is used twice, or comes too late.
    'closed by us': protocolError,
    closed: protocolError,
    'behind our GOAWAY': ignoreAndCount(idle),
  },
  'HEADERS of trailers': {
    connection: protocolError,
    // A request without a method.
    idle: streamError(errorCode.protocolError),
    open: take,
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount(idle),
    closed: streamClosed,
    'behind our GOAWAY': ignoreAndCount(idle),
  },
  // RFC 9113 section 6.10. Within a block it is a part of HEADERS.
  'CONTINUATION of nothing': onAnyStream(protocolError),
  // RFC 9113 section 5.3.2: nobody heeds it.
  PRIORITY: onAnyStream(ignoreAndCount(idle), { connection: protocolError }),
  RST_STREAM: {
    connection: protocolError,
    idle: protocolError,
    // CVE-2023-44487: what was begun for it was in vain.
    open: takeAndCount('resets'),
    'half-closed': takeAndCount('resets'),
    // It crossed the end of our answer, or our own RST_STREAM.
    'closed by us': ignoreAndCount(idle),
    closed: ignoreAndCount(idle),
    'behind our GOAWAY': ignoreAndCount(idle),
  },
  // CVE-2019-9515. The first is free.
  SETTINGS: onConnection(takeAndCount(idle)),
  'SETTINGS that acknowledge': onConnection(ignoreAndCount(idle)),
  // RFC 9113 section 8.4.
  PUSH_PROMISE: onAnyStream(protocolError),
  // CVE-2019-9512.
  PING: onConnection(takeAndCount(idle)),
  // We ask for none.
  'PING that acknowledges': onConnection(ignoreAndCount(idle)),
  GOAWAY: onConnection(takeAndCount(idle)),
  WINDOW_UPDATE: {
    connection: takeAndCount('window updates'),
    idle: protocolError,
    open: takeAndCount('window updates'),
    'half-closed': takeAndCount('window updates'),
    'closed by us': ignoreAndCount('window updates'),
    closed: ignoreAndCount('window updates'),
    'behind our GOAWAY': ignoreAndCount('window updates'),
  },
  // RFC 9113 section 5.5.
  'of an unknown type': onAnyStream(ignoreAndCount(idle)),
};
