const mask = Buffer.from([1, 2, 3, 4]);

/**
 * A whole text message of less than 126 bytes in one frame (RFC 6455 section 5.2), as a byte string.
 * @param masked as clients have to
 */
export function textFrame(text: string, masked: boolean): string {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, payload.length | (masked ? 0x80 : 0)]);
  const body = masked ? Buffer.concat([mask, xor(payload, mask)]) : payload;
  return Buffer.concat([head, body]).toString('latin1');
}

/** The text of such a frame; `undefined` for any other. */
export function readTextFrame(frame: Buffer): string | undefined {
  const [first = 0, second = 0] = frame;
  const length = second & 0x7f;
  if (first !== 0x81 || length > 125) return undefined;
  const masked = (second & 0x80) !== 0;
  const start = masked ? 6 : 2;
  const payload = frame.subarray(start, start + length);
  return (masked ? xor(payload, frame.subarray(2, 6)) : payload).toString();
}

function xor(payload: Buffer, key: Buffer): Buffer {
  return Buffer.from(payload.map((byte, index) => byte ^ (key[index % 4] ?? 0)));
}
