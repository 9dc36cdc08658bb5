/** The wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as it is needed. */

export type WireValue = { readonly field: number } & (
  | { readonly kind: 'varint'; readonly value: bigint }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
);

/**
 * The fields of a message, in order. Fixed-width fields are skipped: no message read here has them.
 * @throws {RangeError} when the bytes end inside a field.
 */
export function* readFields(message: Uint8Array): Generator<WireValue> {
  let position = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[position++];
      if (byte === undefined || shift > 63n) throw new RangeError('protobuf: a number does not end');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  };
  while (position < message.length) {
    const tag = Number(varint());
    const field = tag >>> 3;
    const type = tag & 7;
    if (type === 0) {
      yield { field, kind: 'varint', value: varint() };
    } else if (type === 2) {
      const length = Number(varint());
      const end = position + length;
      if (length < 0 || end > message.length) throw new RangeError('protobuf: a field reaches past the end');
      yield { field, kind: 'bytes', value: message.subarray(position, end) };
      position = end;
    } else if (type === 1 || type === 5) {
      position += type === 1 ? 8 : 4;
    } else {
      throw new RangeError(`protobuf: wire type ${type} is not known`);
    }
  }
}

/** One field of text or of a message already encoded. */
export function writeField(field: number, value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return Buffer.concat([varintBytes(field * 8 + 2), varintBytes(bytes.length), bytes]);
}

function varintBytes(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Uint8Array.from([...bytes, rest]);
}
