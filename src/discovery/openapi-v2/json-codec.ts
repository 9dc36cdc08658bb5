import { pause } from '../../runtime/time-slice.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import {
  checkIsOpenApiV2,
  concatenate,
  type DocumentCodec,
  emptySections,
  type Section,
  sortedEntries,
} from './document-parts.ts';
import { JsonCursor } from './json-cursor.ts';

/** Bytes that are worked through before others get their turn: about a millisecond. */
const bytesBetweenPauses = 128 * 1024;

const encoder = new TextEncoder();
const openBrace = encoder.encode('{');
const closeBrace = encoder.encode('}');
const comma = encoder.encode(',');

/** OpenAPI v2 as JSON. Every entry is checked to be JSON on its own, so that a copy of it breaks no document. */
export const jsonCodec: DocumentCodec = {
  mediaType: 'application/json',
  accept: 'application/json',
  // Seen: 1.25 leaves the type to Go's guess at the content.
  givenAs: ['application/json', 'text/plain'],

  async read(bytes) {
    const cursor = new JsonCursor(bytes);
    const sections = emptySections();
    const plain: Uint8Array[] = [];
    let version: unknown;
    cursor.enterObject();
    for (let name = cursor.nextName(); name !== undefined; name = cursor.nextName()) {
      const section = sections.get(name);
      if (section !== undefined) {
        await readSection(cursor, bytes, section);
        continue;
      }
      const { nameStart, position: valueStart } = cursor;
      cursor.skipValue();
      const value = cursor.parse(valueStart, cursor.position);
      if (name === 'swagger') version = value;
      plain.push(bytes.subarray(nameStart, cursor.position));
    }
    if (!cursor.isAtEnd()) {
      throw new DiscoveryDocumentError('InvalidDocument', 'This is no JSON: something follows its end.');
    }
    checkIsOpenApiV2(version);
    return { plain, sections };
  },

  write({ plain, sections }) {
    const members = [...plain];
    for (const [name, section] of sections) {
      if (section.size === 0 && name !== 'paths') continue;
      members.push(
        concatenate([
          encoder.encode(`${JSON.stringify(name)}:`),
          openBrace,
          ...separated(sortedEntries(section)),
          closeBrace,
        ]),
      );
    }
    return concatenate([openBrace, ...separated(members), closeBrace]);
  },
};

async function readSection(cursor: JsonCursor, bytes: Uint8Array, section: Section): Promise<void> {
  let pausedAt = cursor.position;
  cursor.enterObject();
  for (let name = cursor.nextName(); name !== undefined; name = cursor.nextName()) {
    const { nameStart, position: valueStart } = cursor;
    cursor.skipValue();
    cursor.parse(valueStart, cursor.position);
    section.set(name, bytes.subarray(nameStart, cursor.position));
    if (cursor.position - pausedAt < bytesBetweenPauses) continue;
    await pause();
    pausedAt = cursor.position;
  }
}

function separated(parts: readonly Uint8Array[]): Uint8Array[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [comma, part]));
}
