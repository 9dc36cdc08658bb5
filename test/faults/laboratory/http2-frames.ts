import { fieldBlock } from '../../../packages/http2/test/hpack.ts';
import { frame, frameFlag, frameType } from '../../support/clients/raw-http2.ts';

/** @param lastStream the last one that the server has processed, or will process (RFC 9113 section 6.8) */
export function goAway(lastStream: number, code: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(lastStream, 0);
  payload.writeUInt32BE(code, 4);
  return frame(frameType.goAway, frameFlag.none, 0, payload);
}

/** A head that is not the last thing on its stream. */
export function head(stream: number, lines: readonly string[]): Buffer {
  return frame(frameType.headers, frameFlag.endHeaders, stream, fieldBlock(lines));
}

/** The beginning of a head whose end has to come in CONTINUATION frames. */
export function unfinishedHead(stream: number, lines: readonly string[]): Buffer {
  return frame(frameType.headers, frameFlag.none, stream, fieldBlock(lines));
}

export function continuation(stream: number, lines: readonly string[]): Buffer {
  return frame(frameType.continuation, frameFlag.none, stream, fieldBlock(lines));
}
