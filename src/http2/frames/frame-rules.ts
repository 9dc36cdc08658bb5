import { errorCode } from './frame.ts';

/** The rows of the table: types of frames (RFC 9113 section 6), some of them split by their content. */
export const frameKinds = [
  'DATA',
  /** Less than `smallData`, without END_STREAM. */
  'DATA with little content',
  'DATA without content or end',
  'HEADERS of a message',
  'HEADERS of trailers',
  'CONTINUATION of nothing',
  'PRIORITY',
  'RST_STREAM',
  'SETTINGS',
  'SETTINGS that acknowledge',
  'PUSH_PROMISE',
  'PING',
  'PING that acknowledges',
  'GOAWAY',
  'WINDOW_UPDATE',
  'of an unknown type',
] as const;

export type FrameKind = (typeof frameKinds)[number];

/** The columns: the state of a frame's stream, as its receiver sees it (RFC 9113 section 5.1). */
export const streamStates = [
  /** No stream: identifier 0. */
  'connection',
  /** Never opened. */
  'idle',
  /** The peer may send more. */
  'open',
  /** The peer has ended its message, and we have not ended ours. */
  'half-closed',
  /** We reset it: frames in transit may still arrive. */
  'closed by us',
  /** Both sides ended it, the peer reset it, or its identifier was skipped. */
  'closed',
  /** Later than the last stream that our GOAWAY names. */
  'after our GOAWAY',
] as const;

export type StreamState = (typeof streamStates)[number];

/** The states of a stream that is not open. */
export type ClosedState = Exclude<StreamState, 'connection' | 'open' | 'half-closed'>;

/** The frames that are counted for each peer. */
export type Budget = 'resets' | 'idle frames' | 'small data' | 'window updates';

/** A DATA frame with fewer bytes of content costs more than it carries. */
export const smallData = 256;

/** @param length bytes of the payload */
export function dataKind(length: number, endStream: boolean): FrameKind {
  if (endStream || length >= smallData) return 'DATA';
  return length === 0 ? 'DATA without content or end' : 'DATA with little content';
}

export type FrameRule =
  /** It takes effect. */
  | { readonly action: 'take'; readonly counts?: Budget }
  /** It has no effect, but is read where later frames depend on it (HPACK). */
  | { readonly action: 'ignore'; readonly counts?: Budget }
  /** RST_STREAM is sent, and counted where it is written. */
  | { readonly action: 'stream error'; readonly code: number; readonly counts: 'resets' }
  /** GOAWAY is sent, and the connection ends. */
  | { readonly action: 'connection error'; readonly code: number };

/** What each frame does in each state. */
export type FrameRules = Readonly<Record<FrameKind, Readonly<Record<StreamState, FrameRule>>>>;

export const take: FrameRule = { action: 'take' };
export const ignore: FrameRule = { action: 'ignore' };
export const protocolError: FrameRule = { action: 'connection error', code: errorCode.protocolError };

export function takeAndCount(counts: Budget): FrameRule {
  return { action: 'take', counts };
}

export function ignoreAndCount(counts: Budget): FrameRule {
  return { action: 'ignore', counts };
}

/** @param code RFC 9113 section 7 */
export function streamError(code: number): FrameRule {
  return { action: 'stream error', code, counts: 'resets' };
}

/** One rule for all states, with exceptions. */
export function onAnyStream(
  rule: FrameRule,
  others: Partial<Record<StreamState, FrameRule>> = {},
): Readonly<Record<StreamState, FrameRule>> {
  return {
    connection: rule,
    idle: rule,
    open: rule,
    'half-closed': rule,
    'closed by us': rule,
    closed: rule,
    'after our GOAWAY': rule,
    ...others,
  };
}

/** For frames of the connection, which are errors on a stream (RFC 9113 section 6). */
export function onConnection(rule: FrameRule): Readonly<Record<StreamState, FrameRule>> {
  return onAnyStream(protocolError, { connection: rule });
}
