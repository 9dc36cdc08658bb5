import { pause } from '../../runtime/time-slice.ts';
import { EncodedDocument } from '../forms/encoded-document.ts';
import type { ServerCopies, ServerCopy } from '../server-documents/server-copies.ts';
import { addMissing, type DocumentCodec, type DocumentParts } from './document-parts.ts';

/** A document of a server that could not be used. */
export interface DocumentProblem {
  /** For example `/openapi/v2`. */
  readonly path: string;
  /** API server ID. */
  readonly server: string;
  /** For people. */
  readonly problem: string;
}

export interface BuiltDocument {
  /** `undefined` when no server could be read. */
  readonly document: EncodedDocument | undefined;
  /** What could not be added, beside what could not be read. */
  readonly problems: readonly Omit<DocumentProblem, 'path'>[];
}

/** Bytes that all others may add to the leading document. */
const maximumAddition = 32 * 1024 * 1024;

/**
 * Merges one copy of each source, the leading one first. At any moment there are the leading document, one other, and
 * what was kept of those before. Never rejects for what a server has sent: its part is left out.
 */
export async function buildDocument(
  found: readonly (ServerCopy | undefined)[],
  codec: DocumentCodec,
  copies: ServerCopies,
): Promise<BuiltDocument> {
  const problems: { server: string; problem: string }[] = [];
  let leading: DocumentParts | undefined;
  let room = maximumAddition;
  for (const copy of found) {
    const parts = copy && (await copies.parse(copy, codec.read));
    if (copy === undefined || parts === undefined) continue;
    if (leading === undefined) {
      leading = parts;
      continue;
    }
    const added = addMissing(leading, parts, room);
    if (added === undefined) {
      problems.push({ server: copy.serverId, problem: 'it has too much that the others lack' });
    } else room -= added;
  }
  if (leading === undefined) return { document: undefined, problems };
  await pause();
  return { document: new EncodedDocument(codec.write(leading)), problems };
}
