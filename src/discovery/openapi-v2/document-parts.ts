import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import type { ServerDocumentForm } from '../server-documents/sources.ts';

/** The parts of an OpenAPI v2 document that are merged, entry by entry. */
const sectionNames = ['paths', 'definitions', 'parameters', 'responses'];

/** Entries by name. Each is encoded whole, its name included, so that it can be copied as it is. */
export type Section = Map<string, Uint8Array>;

/** An OpenAPI v2 document, cut but not decoded. */
export interface DocumentParts {
  /** Everything else of the document, each member encoded whole. */
  readonly plain: readonly Uint8Array[];
  readonly sections: ReadonlyMap<string, Section>;
}

/** One of the two forms of OpenAPI v2; a merged document has its media type. */
export interface DocumentCodec extends ServerDocumentForm {
  /**
   * Cuts a document; the parts are views of `bytes`.
   * @throws {DiscoveryDocumentError} (rejects) when it is something else, or broken
   */
  read(bytes: Uint8Array): Promise<DocumentParts>;
  /** Puts parts together, entries in the order of their names, as API servers write them. */
  write(parts: DocumentParts): Uint8Array<ArrayBuffer>;
}

/** @param version what a document says under `swagger` @throws {DiscoveryDocumentError} for another version, or none */
export function checkIsOpenApiV2(version: unknown): void {
  if (version === '2.0') return;
  throw new DiscoveryDocumentError('NotTheDocument', 'This is no OpenAPI v2: it is not swagger 2.0.');
}

export function emptySections(): Map<string, Section> {
  return new Map(sectionNames.map((name) => [name, new Map()]));
}

/**
 * Adds to `leading` what only `other` has. An entry that both have stays as the leading document has it: names
 * carry the group version, so a newer server's definition of one is that of an older server with fields added.
 *
 * @param room bytes that may be added at most
 * @returns the bytes added, copied, so that `other` can be let go; `undefined`, with nothing added, where there is
 *   not enough room
 */
export function addMissing(leading: DocumentParts, other: DocumentParts, room: number): number | undefined {
  const missing: [Section, string, Uint8Array][] = [];
  let added = 0;
  for (const [name, entries] of other.sections) {
    const section = leading.sections.get(name);
    if (section === undefined) continue;
    for (const [entryName, entry] of entries) {
      if (section.has(entryName)) continue;
      missing.push([section, entryName, entry]);
      added += entry.byteLength;
    }
  }
  if (added > room) return undefined;
  // Not `slice`, which copies nothing where a runtime gives its own kind of Uint8Array.
  for (const [section, entryName, entry] of missing) section.set(entryName, new Uint8Array(entry));
  return added;
}

/** The entries of a section in the order of their names. */
export function sortedEntries(section: Section): Uint8Array[] {
  return [...section].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

export function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.byteLength, 0));
  let position = 0;
  for (const chunk of chunks) {
    whole.set(chunk, position);
    position += chunk.byteLength;
  }
  return whole;
}
