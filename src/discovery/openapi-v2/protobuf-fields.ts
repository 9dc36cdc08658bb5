import { DiscoveryDocumentError } from '../forms/parse-document.ts';

/** One field of a message, undecoded (https://protobuf.dev/programming-guides/encoding/). */
export interface ProtobufField {
  readonly number: number;
  /** Tag and value: what has to be copied to copy the field. */
  readonly whole: Uint8Array;
  /** Of a length-delimited field; `undefined` for a number. */
  readonly content: Uint8Array | undefined;
}

const bytesOfFixed: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const lengthDelimited = 2;

/** The fields of a message, in order, as views of it. @throws {DiscoveryDocumentError} when it breaks off */
export function* fieldsOf(message: Uint8Array): Generator<ProtobufField> {
  let position = 0;

  const varint = (): number => {
    let value = 0;
    // Ten bytes make 64 bits; lengths and tags beyond what a number holds exactly are none.
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[position++];
      if (byte === undefined) throw broken();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw broken();
  };

  while (position < message.byteLength) {
    const start = position;
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (number === 0) throw broken();
    let contentStart: number | undefined;
    if (wireType === 0) varint();
    else if (wireType === lengthDelimited) {
      const length = varint();
      contentStart = position;
      position += length;
    } else {
      // The rest are groups, which proto3 does not have.
      const length = bytesOfFixed[wireType];
      if (length === undefined) throw broken();
      position += length;
    }
    if (position > message.byteLength) throw broken();
    yield {
      number,
      whole: message.subarray(start, position),
      content: contentStart === undefined ? undefined : message.subarray(contentStart, position),
    };
  }
}

/** Tag and length of a length-delimited field. */
export function fieldHead(number: number, length: number): Uint8Array {
  return Uint8Array.from([...varintBytes(number * 8 + lengthDelimited), ...varintBytes(length)]);
}

function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  return [...bytes, rest];
}

function broken(): DiscoveryDocumentError {
  return new DiscoveryDocumentError('InvalidDocument', 'This is no whole protobuf message.');
}
