import { errorCode } from './frame.ts';

/** What stands in a row of the table: a type of frame (RFC 9113 section 6), and where it matters what is in it. */
export const frameKinds = [
  'DATA',
  /** Below `smallData`, and not the last. */
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

/** What a frame belongs to, as its receiver sees it (RFC 9113 section 5.1). */
export const streamStates = [
  /** No stream: identifier 0. */
  'connection',
  /** Never opened. */
  'idle',
  /** More may come on it. */
  'open',
  /** The other side has ended its message, and we have not ended ours. */
  'half-closed',
  /** We have given it up: what was on its way still comes. */
  'closed by us',
  /** The other side has ended or reset it, and we have ended it as well; or it was skipped. */
  'closed',
  /** It comes behind the last stream that our GOAWAY names. */
  'behind our GOAWAY',
] as const;

export type StreamState = (typeof streamStates)[number];

/** What is counted of an other side. */
export type Budget = 'resets' | 'idle frames' | 'small data' | 'window updates';

/** Bytes of a piece of content that takes more to deal with than it carries. */
export const smallData = 256;

/** What a frame does. */
export type FrameRule =
  /** What it says is done. */
  | { readonly action: 'take'; readonly counts?: Budget }
  /** It is read, as far as later ones depend on it, and has no effect. */
  | { readonly action: 'ignore'; readonly counts?: Budget }
  /** RST_STREAM. Whoever makes us write one is counted where it is written. */
  | { readonly action: 'stream error'; readonly code: number; readonly counts: 'resets' }
  /** GOAWAY. */
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

/** One rule for each state of a stream, and another for frames that belong to none. */
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
    'behind our GOAWAY': rule,
    ...others,
  };
}

/** For frames that belong to the connection as a whole: on a stream they are errors (RFC 9113 section 6). */
export function onConnection(rule: FrameRule): Readonly<Record<StreamState, FrameRule>> {
  return onAnyStream(protocolError, { connection: rule });
}
