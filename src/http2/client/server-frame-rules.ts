import {
  type FrameRules,
  ignore,
  onAnyStream,
  onConnection,
  protocolError,
  take,
} from '../frames/frame-rules.ts';

/**
 * On streams that we have opened. A request that is given up here is forgotten at once: what its server still sends
 * crossed our RST_STREAM (RFC 9113 section 5.1, "closed").
 */
const onOurStreams = onAnyStream(ignore, {
  connection: protocolError,
  idle: protocolError,
  open: take,
  'half-closed': take,
});

/**
 * What frames of servers do. No budget counts them: a server is dialled by us, behind a certificate that was checked, and
 * what it makes us write or hold is bounded elsewhere (docs/reference/limits.md).
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
  // We have said that nothing is to be pushed (RFC 9113 section 8.4).
  PUSH_PROMISE: onAnyStream(protocolError),
  PING: onConnection(take),
  'PING that acknowledges': onConnection(ignore),
  GOAWAY: onConnection(take),
  WINDOW_UPDATE: { ...onOurStreams, connection: take },
  'of an unknown type': onAnyStream(ignore),
};
