/** Bytes as a string of as many characters (isomorphic encoding, Fetch section 2.2): a copy at the price of a buffer. */
export function byteString(bytes: Uint8Array): string {
  const buffer =
    bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('latin1');
}
