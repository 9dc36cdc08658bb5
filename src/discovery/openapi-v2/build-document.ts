import { EncodedDocument } from '../encoded-document.ts';
import { DiscoveryDocumentError } from '../parse-document.ts';
import { pause } from '../pause.ts';
import { addMissing, type DocumentCodec, type DocumentParts } from './document-parts.ts';
import { type ReadServerDocument, type ServerDocument, ServerDocumentError } from './server-document.ts';
import type { DocumentSource } from './sources.ts';

/** A document of a server that could not be used. */
export interface DocumentProblem {
  /** For example `/openapi/v2`. */
  readonly path: string;
  /** API server ID. */
  readonly server: string;
  /** For people. */
  readonly problem: string;
}

export interface DocumentReading {
  readonly serverId: string;
  readonly etag: string | undefined;
}

export interface BuiltDocument {
  /** `undefined` when no server could be read. */
  readonly document: EncodedDocument | undefined;
  /** Which servers it was made from. */
  readonly readings: readonly DocumentReading[];
  /** Sources of which no server could be read: their part is missing. */
  readonly missing: number;
  readonly problems: readonly Omit<DocumentProblem, 'path'>[];
}

/** Differing sets that are merged at most; a cluster in an upgrade has two or three. */
const maximumSources = 8;
/** Of one source, before its part is given up. */
const attemptsPerSource = 2;
/** Bytes that all others may add to the leading document. */
const maximumAddition = 32 * 1024 * 1024;

/**
 * Reads one server of each source, one after the other, and merges what they answer. At any moment there are the
 * leading document, one other, and what was kept of those before. Never rejects for what a server answers: its part
 * is left out and named in `problems`.
 */
export async function buildDocument(
  sources: readonly DocumentSource[],
  codec: DocumentCodec,
  read: ReadServerDocument,
): Promise<BuiltDocument> {
  const problems: { server: string; problem: string }[] = [];
  const readings: DocumentReading[] = [];
  let leading: DocumentParts | undefined;
  let room = maximumAddition;
  let missing = 0;
  for (const [index, source] of sources.entries()) {
    if (index >= maximumSources) {
      problems.push({ server: source.servers[0]?.id ?? '', problem: 'too many differing servers to merge' });
      missing++;
      continue;
    }
    const found = await readSource(source, codec, read, problems);
    if (found === undefined) {
      missing++;
      continue;
    }
    readings.push({ serverId: found.serverId, etag: found.etag });
    if (leading === undefined) {
      leading = found.parts;
      continue;
    }
    const added = addMissing(leading, found.parts, room);
    if (added === undefined) {
      problems.push({ server: found.serverId, problem: 'it has too much that the others lack' });
      missing++;
    } else room -= added;
  }
  if (leading === undefined) return { document: undefined, readings, missing, problems };
  await pause();
  const document = new EncodedDocument(codec.write(leading));
  return { document, readings, missing, problems };
}

async function readSource(
  { servers }: DocumentSource,
  codec: DocumentCodec,
  read: ReadServerDocument,
  problems: { server: string; problem: string }[],
): Promise<{ serverId: string; etag: string | undefined; parts: DocumentParts } | undefined> {
  for (const server of servers.slice(0, attemptsPerSource)) {
    try {
      const answer = await read({ server, accept: codec.accept });
      requireDocument(answer, codec);
      await pause();
      return { serverId: server.id, etag: answer.etag, parts: await codec.read(answer.body) };
    } catch (error) {
      if (!(error instanceof ServerDocumentError || error instanceof DiscoveryDocumentError)) throw error;
      problems.push({ server: server.id, problem: error.message });
    }
  }
  return undefined;
}

function requireDocument(
  { status, contentType }: ServerDocument,
  { mediaType, givenAs }: DocumentCodec,
): void {
  if (status !== 200) throw new ServerDocumentError(`It was answered with ${status} instead of 200.`);
  const given = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (givenAs.includes(given)) return;
  // Written by someone else: no more of it than a media type needs.
  const what = given === '' ? 'no content type' : given.slice(0, 80);
  throw new ServerDocumentError(`It was answered with ${what} instead of ${mediaType}.`);
}
