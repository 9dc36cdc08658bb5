import {
  defaultMaximumFrameSize,
  errorCode,
  frameFlag,
  frameHead,
  frameType,
  maximumWindow,
  uint32,
} from './frame.ts';
import { connectionError } from './http2-error.ts';

/** RFC 9113 section 6.5.2. */
const identifier = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

export type PeerRole = 'client' | 'server';

/** The settings of one side. Sizes in bytes. */
export interface Settings {
  readonly maxConcurrentStreams: number;
  readonly initialWindowSize: number;
  readonly maxHeaderListSize: number;
}

/** The defaults (RFC 9113 section 6.5.2). */
export const initialSettings: Settings = {
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowSize: 65_535,
  maxHeaderListSize: Number.POSITIVE_INFINITY,
};

/** A SETTINGS frame. */
export function settingsFrame(...settings: readonly (readonly [keyof typeof identifier, number])[]): string {
  let payload = '';
  for (const [name, value] of settings) {
    payload += String.fromCharCode(0, identifier[name]) + uint32(value);
  }
  return frameHead(payload.length, frameType.settings, frameFlag.none, 0) + payload;
}

/**
 * Applies the payload of a SETTINGS frame. Two settings are ignored: the size of the header table, because we use none,
 * and the size of frames, because ours never exceed the default.
 * @param from who sent it
 * @throws {Http2Error} RFC 9113 section 6.5.2
 */
export function changedSettings(settings: Settings, payload: Buffer, from: PeerRole): Settings {
  if (payload.length % 6 !== 0)
    throw connectionError(errorCode.frameSizeError, 'SETTINGS has an incomplete entry');
  let { maxConcurrentStreams, initialWindowSize, maxHeaderListSize } = settings;
  for (let offset = 0; offset < payload.length; offset += 6) {
    const value = payload.readUInt32BE(offset + 2);
    switch (payload.readUInt16BE(offset)) {
      case identifier.enablePush:
        // 0 or 1; a server must not enable it (RFC 9113 section 6.5.2).
        if (value > (from === 'server' ? 0 : 1)) {
          throw connectionError(errorCode.protocolError, 'SETTINGS_ENABLE_PUSH is invalid');
        }
        break;
      case identifier.maxConcurrentStreams:
        maxConcurrentStreams = value;
        break;
      case identifier.initialWindowSize:
        if (value > maximumWindow)
          throw connectionError(errorCode.flowControlError, 'SETTINGS_INITIAL_WINDOW_SIZE is too large');
        initialWindowSize = value;
        break;
      case identifier.maxFrameSize:
        if (value < defaultMaximumFrameSize || value > 0xff_ffff) {
          throw connectionError(errorCode.protocolError, 'SETTINGS_MAX_FRAME_SIZE is out of range');
        }
        break;
      case identifier.maxHeaderListSize:
        maxHeaderListSize = value;
        break;
    }
  }
  return { maxConcurrentStreams, initialWindowSize, maxHeaderListSize };
}
