import { type Frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import { initialWindow, preface } from './client-frames.ts';

const { endHeaders, padded, ack } = frameFlag;

/** What a client has written so far, by its frames; grants of a frame that is not whole do not count. */
export class Client {
  /** WINDOW_UPDATE of the connection (0) and of streams. */
  readonly widened = new Map<number, number>();
  /** The window of a stream behind none of its SETTINGS, behind the first of them, … */
  readonly initialWindows = [initialWindow];
  readonly opened = new Set<number>();
  /** The highest of them: with it all lower ones that were idle are closed (RFC 9113 section 5.1.1). */
  highest = 0;
  /** Without padding. */
  readonly content = new Map<number, Buffer[]>();
  /** Bytes of DATA, padding and all; of all streams together (0) as soon as they are announced. */
  readonly uploaded = new Map<number, number>();
  pings = 0;
  leaves = false;
  /** Whether another frame may follow. */
  isAtFrame = true;

  constructor(bytes: Buffer) {
    for (let offset = preface.length; offset < bytes.length; ) {
      const end = offset + 9 + (offset + 9 <= bytes.length ? bytes.readUIntBE(offset, 3) : 0);
      this.isAtFrame = end <= bytes.length;
      if (offset + 9 > bytes.length) break;
      const type = bytes.readUInt8(offset + 3);
      if (!this.isAtFrame && type !== frameType.data) break;
      const flags = bytes.readUInt8(offset + 4);
      const stream = bytes.readUInt32BE(offset + 5) & 0x7fff_ffff;
      this.#read({ type, flags, stream, payload: bytes.subarray(offset + 9, end) }, end - offset - 9);
      offset = end;
    }
  }

  #read({ type, flags, stream, payload }: Frame, length: number): void {
    if (type === frameType.headers) {
      this.opened.add(stream);
      this.highest = Math.max(this.highest, stream);
    }
    if (type === frameType.headers || type === frameType.continuation) {
      if ((flags & endHeaders) === 0) this.isAtFrame = false;
    }
    if (type === frameType.data) {
      const padding = (flags & padded) === 0 ? 0 : (payload[0] ?? 0);
      const content = payload.subarray((flags & padded) === 0 ? 0 : 1, Math.max(0, length - padding));
      this.content.set(stream, [...(this.content.get(stream) ?? []), content]);
      add(this.uploaded, stream, payload.length);
      add(this.uploaded, 0, length);
    }
    if (type === frameType.windowUpdate && payload.length === 4) {
      add(this.widened, stream, payload.readUInt32BE() & 0x7fff_ffff);
    }
    if (type === frameType.ping && (flags & ack) === 0) this.pings++;
    if (type === frameType.goAway) this.leaves = true;
    if (type === frameType.settings && (flags & ack) === 0) {
      let window = this.initialWindows.at(-1) ?? 0;
      for (let offset = 0; offset + 6 <= payload.length; offset += 6) {
        if (payload.readUInt16BE(offset) === 4) window = payload.readUInt32BE(offset + 2);
      }
      this.initialWindows.push(window);
    }
  }
}

export function add(to: Map<number, number>, key: number, number: number): void {
  to.set(key, (to.get(key) ?? 0) + number);
}
