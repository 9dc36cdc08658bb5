import { frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';

export const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const initialWindow = 65_535;

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
export const settings = (identifier: number, value: number): Buffer =>
  frame(frameType.settings, frameFlag.none, 0, Buffer.concat([Buffer.from([0, identifier]), uint32(value)]));
export const windowUpdate = (stream: number, increment: number): Buffer =>
  frame(frameType.windowUpdate, frameFlag.none, stream, uint32(increment));
