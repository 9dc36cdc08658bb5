import { errorMessage } from '../../runtime/errors.ts';
import { backOffDelay, type Clock, createLimiter, withDeadline } from '../../runtime/time.ts';
import { getJsonIfServed } from '../documents/json-document.ts';
import { schemaDigests } from '../documents/schema-digests.ts';
import { ReadError, type ServerDocuments, withoutQuery } from '../documents/server-documents.ts';
import { openApiTypes } from './read-openapi-index.ts';

/** For all documents of one call together, also those that wait for their turn, milliseconds. */
const timeout = 15_000;
/** Until a document that could not be read is read again: at first soon, as a server that has just started may not have it yet. */
const retriedAfter = { initialMilliseconds: 1_000, maximumMilliseconds: 30_000 };
/** Until a document whose URL has no hash is read again, milliseconds. */
const refreshedAfter = 600_000;
/**
 * Documents in memory and digested at once: the largest of Kubernetes 1.36 has 1.6 MB, and takes 15 MB parsed. While one is
 * digested the next arrives; more would only share the processor, with the snapshot that is made meanwhile as well.
 */
const concurrentDocuments = 2;
/** Longest document that is parsed, in characters: ten times the largest of Kubernetes 1.36. */
const maximumLength = 16 * 1024 * 1024;
/**
 * Documents whose digests are remembered, at about 3 KB each. Three versions have 180; 50 servers whose URLs have no
 * hashes have 3,000.
 */
const rememberedDocuments = 4_000;

/** An OpenAPI v3 document of a group version. */
export interface SchemaDocument {
  readonly group: string;
  readonly version: string;
  /** The `serverRelativeURL` of the server's own index. */
  readonly url: string;
  /** Documents with the same key have the same content. */
  readonly key: string;
  /** Whether the content under this key never changes. */
  readonly isImmutable: boolean;
  /** The servers that have it and can be read. */
  readonly from: readonly ServerDocuments[];
}

/** What is known of a document. */
export type SchemaDocumentState =
  | { readonly kind: 'known'; readonly digests: ReadonlyMap<string, string> }
  | { readonly kind: 'failed'; readonly reason: string }
  /** It is being read for the first time. */
  | { readonly kind: 'pending' }
  /** Its read has not begun. */
  | { readonly kind: 'waiting' };

const timedOut = () => new ReadError('Unreachable', `not all documents were read within ${timeout} ms`);

interface Entry {
  digests: ReadonlyMap<string, string> | undefined;
  /** Why the last read failed. */
  issue: string | undefined;
  failures: number;
  isUnderWay: boolean;
  /** When it is read again, by the monotonic clock. */
  dueAt: number;
}

async function digestsOf(
  server: ServerDocuments,
  { group, version, url }: SchemaDocument,
  digested: Map<string, string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const bounded: ServerDocuments = {
    async get(...request) {
      const document = await server.get(...request);
      if (document.body.length <= maximumLength) return document;
      throw new ReadError(
        'InvalidDocument',
        `${withoutQuery(url)} has more than ${maximumLength} characters`,
      );
    },
  };
  const value = await getJsonIfServed(bounded, url, signal, openApiTypes);
  if (value === undefined) throw new ReadError('UnexpectedStatus', `${withoutQuery(url)} is not served`);
  return schemaDigests(value, group, version, digested);
}

/** The digests of OpenAPI v3 documents, each read once. */
export function createSchemaDocuments(clock: Pick<Clock, 'monotonic' | 'random'>) {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  const limit = createLimiter(concurrentDocuments);
  /** Digests of definitions that documents share. */
  let digested = new Map<string, string>();
  let dropped = new AbortController();
  /** First reads of documents. */
  const underWay = new Set<Promise<void>>();

  function used(key: string): Entry {
    const entry = entries.get(key) ?? {
      digests: undefined,
      issue: undefined,
      failures: 0,
      isUnderWay: false,
      dueAt: -Infinity,
    };
    entries.delete(key);
    entries.set(key, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= rememberedDocuments) break;
      entries.delete(oldest);
    }
    return entry;
  }

  function stateOf(key: string): SchemaDocumentState {
    const { digests, issue, isUnderWay } = entries.get(key) ?? {};
    if (digests !== undefined) return { kind: 'known', digests };
    if (issue !== undefined) return { kind: 'failed', reason: issue };
    return { kind: isUnderWay === true ? 'pending' : 'waiting' };
  }

  /** Never rejects. @param endsAt by the monotonic clock */
  async function readOne(
    document: SchemaDocument,
    entry: Entry,
    endsAt: number,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const { from, isImmutable } = document;
      // After a failure, the next server is asked.
      const server = from[entry.failures % from.length];
      const left = endsAt - clock.monotonic();
      if (server === undefined || left <= 0) throw timedOut();
      const digests = await withDeadline(left, signal, timedOut, async (deadline) =>
        digestsOf(server, document, digested, deadline),
      );
      const dueAt = isImmutable ? Number.POSITIVE_INFINITY : clock.monotonic() + refreshedAfter;
      Object.assign(entry, { digests, issue: undefined, failures: 0, dueAt });
    } catch (error) {
      entry.issue = errorMessage(error);
      entry.failures++;
      entry.dueAt = clock.monotonic() + backOffDelay(retriedAfter, entry.failures, clock.random());
    }
  }

  async function readAll(documents: readonly SchemaDocument[], signal: AbortSignal): Promise<void> {
    if (documents.length === 0) return;
    const either = AbortSignal.any([signal, dropped.signal]);
    const endsAt = clock.monotonic() + timeout;
    const readings = documents.map(async (document) => {
      const entry = used(document.key);
      entry.isUnderWay = true;
      await limit(() => readOne(document, entry, endsAt, either));
      entry.isUnderWay = false;
    });
    await Promise.all(readings);
  }

  return {
    /** Adds digests that are already known. */
    remember(key: string, digests: ReadonlyMap<string, string>): void {
      Object.assign(used(key), { digests, dueAt: Number.POSITIVE_INFINITY });
    },
    /**
     * Starts to read the documents that are not known.
     *
     * @returns resolves when all that were begun have ended, up to the time-out; never rejects
     */
    read(documents: readonly SchemaDocument[], signal: AbortSignal): Promise<unknown> {
      const now = clock.monotonic();
      const bounded = documents.slice(0, rememberedDocuments);
      const due = bounded.filter(({ key, from }) => {
        const { isUnderWay, dueAt } = used(key);
        return !isUnderWay && now >= dueAt && from.length > 0;
      });
      const unknown = due.filter(({ key }) => stateOf(key).kind === 'waiting');
      const others = due.filter((document) => !unknown.includes(document));
      const first = readAll(unknown, signal).finally(() => underWay.delete(first));
      underWay.add(first);
      return Promise.all([first, readAll(others, signal)]);
    },
    state: stateOf,
    /** Resolves when the first reads that are under way have ended. */
    settled: (): Promise<unknown> => Promise.all(underWay),
    /** Forgets everything, and cancels all reads. */
    clear(): void {
      dropped.abort();
      dropped = new AbortController();
      entries.clear();
      digested = new Map();
    },
  };
}
