import {
  type FrameRules,
  ignore,
  onAnyStream,
  onConnection,
  protocolError,
  take,
} from '../frames/frame-rules.ts';

/**
 * For frames on streams that we opened. A request that we cancelled is forgotten at once: what the server still sends
 * crossed our RST_STREAM (RFC 9113 section 5.1, "closed").
 */
const onOurStreams = onAnyStream(ignore, {
  connection: protocolError,
  idle: protocolError,
  open: take,
  'half-closed': take,
});

/**
 * What each frame of a server does. No budget counts them: we dialled the server and verified its certificate, and what
 * it makes us write or buffer is bounded elsewhere (docs/reference/limits.md).
 */
export const serverFrameRules: FrameRules = {
  DATA: onOurStreams,
  'DATA with little content': onOurStreams,
  'DATA without content or end': onOurStreams,
  'HEADERS of a message': onOurStreams,
  'HEADERS of trailers': onOurStreams,
  'CONTINUATION of nothing': onAnyStream(protocolError),
  PRIORITY: onAnyStream(ignore, { connection: protocolError }),
  RST_STREAM: onOurStreams,
  SETTINGS: onConnection(take),
  'SETTINGS that acknowledge': onConnection(ignore),
  // Our settings disable push (RFC 9113 section 8.4).
  PUSH_PROMISE: onAnyStream(protocolError),
  PING: onConnection(take),
  'PING that acknowledges': onConnection(ignore),
  GOAWAY: onConnection(take),
  WINDOW_UPDATE: { ...onOurStreams, connection: take },
  'of an unknown type': onAnyStream(ignore),
};
