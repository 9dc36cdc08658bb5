import { type Frame, frame, frameFlag, frameType } from '../raw-http2.ts';

export const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** SETTINGS with one setting. */
export function settings(identifier: number, value: number): Buffer {
  return frame(frameType.settings, frameFlag.none, 0, Buffer.from([0, identifier, ...uint32(value)]));
}

export function windowUpdate(stream: number, increment: number): Buffer {
  return frame(frameType.windowUpdate, frameFlag.none, stream, Buffer.from(uint32(increment)));
}

export const uint32 = (value: number): number[] => [value >>> 24, value >>> 16, value >>> 8, value];

/**
 * The frames that one side has written.
 * @param which whether a last one that is not whole is among them, zeros in place of what is missing
 */
export function framesIn(bytes: Buffer, which: 'whole' | 'and begun' = 'whole'): Frame[] {
  const frames: Frame[] = [];
  for (let offset = 0; offset + 9 <= bytes.length; ) {
    const end = offset + 9 + bytes.readUIntBE(offset, 3);
    if (end > bytes.length && which === 'whole') break;
    const stream = bytes.readUInt32BE(offset + 5) & 0x7fff_ffff;
    const [type, flags] = [bytes.readUInt8(offset + 3), bytes.readUInt8(offset + 4)];
    const missing = Buffer.alloc(Math.max(0, end - bytes.length));
    frames.push({ type, flags, stream, payload: Buffer.concat([bytes.subarray(offset + 9, end), missing]) });
    offset = end;
  }
  return frames;
}

/** The payload of DATA without its padding. */
export function contentIn({ flags, payload }: Frame): Buffer {
  if ((flags & frameFlag.padded) === 0) return payload;
  return payload.subarray(1, Math.max(0, payload.length - (payload[0] ?? 0)));
}
