import {
  defaultMaximumFrameSize,
  errorCode,
  frameFlag,
  frameHead,
  frameType,
  maximumWindow,
  uint32,
} from './frame.ts';
import { connectionFault } from './http2-error.ts';

/** RFC 9113 section 6.5.2. */
const identifier = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

/** Which side of a connection somebody is on. */
export type PeerRole = 'client' | 'server';

/** What one side has said of itself. Sizes in bytes. */
export interface Settings {
  readonly maxConcurrentStreams: number;
  readonly initialWindowSize: number;
  readonly maxHeaderListSize: number;
}

/** Until it has said otherwise (RFC 9113 section 6.5.2). */
export const initialSettings: Settings = {
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowSize: 65_535,
  maxHeaderListSize: Number.POSITIVE_INFINITY,
};

/** What we say of ourselves as a client: nothing is pushed, and this much may be sent ahead on a stream and in a frame. */
export function clientSettings(
  initialWindowSize: number,
  maxHeaderListSize: number,
  maxFrameSize: number,
): string {
  const payload =
    setting(identifier.enablePush, 0) +
    setting(identifier.initialWindowSize, initialWindowSize) +
    setting(identifier.maxFrameSize, maxFrameSize) +
    setting(identifier.maxHeaderListSize, maxHeaderListSize);
  return frameHead(payload.length, frameType.settings, frameFlag.none, 0) + payload;
}

/** The same as a server: so many requests may be open at a time. */
export function serverSettings(settings: Settings): string {
  const payload =
    setting(identifier.maxConcurrentStreams, settings.maxConcurrentStreams) +
    setting(identifier.initialWindowSize, settings.initialWindowSize) +
    setting(identifier.maxHeaderListSize, settings.maxHeaderListSize);
  return frameHead(payload.length, frameType.settings, frameFlag.none, 0) + payload;
}

/**
 * Settings changed by the payload of a SETTINGS frame. The size of the header table
 * is left out, for we use none, and so is that of frames, for ours are never larger than everybody takes.
 * @param from who has sent it
 * @throws {Http2Error} RFC 9113 section 6.5.2.
 */
export function changedSettings(settings: Settings, payload: Buffer, from: PeerRole): Settings {
  if (payload.length % 6 !== 0)
    throw connectionFault(errorCode.frameSizeError, 'SETTINGS has a part of an entry');
  let { maxConcurrentStreams, initialWindowSize, maxHeaderListSize } = settings;
  for (let offset = 0; offset < payload.length; offset += 6) {
    const value = payload.readUInt32BE(offset + 2);
    switch (payload.readUInt16BE(offset)) {
      case identifier.enablePush:
        // Not a server's to switch on, and nothing but on and off (RFC 9113 section 6.5.2).
        if (value > (from === 'server' ? 0 : 1)) {
          throw connectionFault(errorCode.protocolError, 'the setting for push is not allowed');
        }
        break;
      case identifier.maxConcurrentStreams:
        maxConcurrentStreams = value;
        break;
      case identifier.initialWindowSize:
        if (value > maximumWindow) throw connectionFault(errorCode.flowControlError, 'a window is too large');
        initialWindowSize = value;
        break;
      case identifier.maxFrameSize:
        if (value < defaultMaximumFrameSize || value > 0xff_ffff) {
          throw connectionFault(errorCode.protocolError, 'the size of a frame is out of range');
        }
        break;
      case identifier.maxHeaderListSize:
        maxHeaderListSize = value;
        break;
    }
  }
  return { maxConcurrentStreams, initialWindowSize, maxHeaderListSize };
}

function setting(id: number, value: number): string {
  return String.fromCharCode(id >>> 8, id & 0xff) + uint32(value);
}
