import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import {
  checkIsOpenApiV2,
  concatenate,
  type DocumentCodec,
  emptySections,
  type Section,
  sortedEntries,
} from './document-parts.ts';

/** Numbers in message Document (github.com/google/gnostic-models openapiv2/OpenAPIv2.proto). */
const swaggerField = 1;
const sectionsByField = new Map([
  [8, 'paths'],
  [9, 'definitions'],
  [10, 'parameters'],
  [11, 'responses'],
]);
/** In every entry of these, NamedPathItem, NamedSchema and the like. */
const nameField = 1;

/**
 * OpenAPI v2 as protobuf, which kubectl up to 1.27 asks for before it applies anything. Entries are found and copied
 * as they are; what is in them is not looked at.
 */
export const protobufCodec: DocumentCodec = {
  mediaType: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  // Seen: 1.25 knows the form under this older name only, 1.33 under both; 1.25 leaves the type to Go's guess.
  accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  givenAs: [
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    'application/octet-stream',
  ],

  async read(bytes) {
    const sections = emptySections();
    const plain: Uint8Array[] = [];
    let version: string | undefined;
    for (const { number, whole, content } of fieldsOf(bytes)) {
      const section = sections.get(sectionsByField.get(number) ?? '');
      if (section !== undefined) readSection(content, section);
      else {
        if (number === swaggerField) version = text(content);
        plain.push(whole);
      }
    }
    checkIsOpenApiV2(version);
    return { plain, sections };
  },

  write({ plain, sections }) {
    const chunks = [...plain];
    for (const [field, name] of sectionsByField) {
      const entries = sortedEntries(sections.get(name) ?? new Map());
      const length = entries.reduce((sum, entry) => sum + entry.byteLength, 0);
      // A message field that is there but empty is another thing than one that is not; only `paths` is required.
      if (length === 0 && name !== 'paths') continue;
      chunks.push(fieldHead(field, length), ...entries);
    }
    return concatenate(chunks);
  },
};

function readSection(content: Uint8Array | undefined, section: Section): void {
  for (const { whole, content: entry } of fieldsOf(content ?? new Uint8Array())) {
    section.set(nameOf(entry), whole);
  }
}

function nameOf(entry: Uint8Array | undefined): string {
  for (const { number, content } of fieldsOf(entry ?? new Uint8Array())) {
    if (number === nameField) return text(content);
  }
  return '';
}

function text(content: Uint8Array | undefined): string {
  return new TextDecoder().decode(content);
}

/** One field of a message, undecoded (https://protobuf.dev/programming-guides/encoding/). */
interface ProtobufField {
  readonly number: number;
  /** Tag and value: what has to be copied to copy the field. */
  readonly whole: Uint8Array;
  /** Of a length-delimited field; `undefined` for a number. */
  readonly content: Uint8Array | undefined;
}

const bytesOfFixed: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const lengthDelimited = 2;

/** The fields of a message, in order, as views of it. @throws {DiscoveryDocumentError} when it breaks off */
function* fieldsOf(message: Uint8Array): Generator<ProtobufField> {
  let position = 0;

  const varint = (): number => {
    let value = 0;
    // Ten bytes make 64 bits. Lengths and tags beyond the safe integers are invalid.
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
function fieldHead(number: number, length: number): Uint8Array {
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
