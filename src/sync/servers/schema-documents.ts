import { schemaDigests } from '../../discovery/openapi-v3/schema-digests.ts';
import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import { getJsonIfServed } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';

/** Milliseconds for the documents of one call together, those that wait for their turn among them. */
const timeout = 15_000;
/** Milliseconds until a document that could not be read is tried again. */
const retriedAfter = 30_000;
/** Milliseconds until one whose URL says nothing of its content is read again. */
const refreshedAfter = 600_000;
/** Documents held in memory and digested at once: the largest of Kubernetes 1.36 has 1.6 MB, and takes 15 MB parsed. */
const concurrentDocuments = 3;
/** Characters of one document that are parsed at the most: ten times the largest. */
const maximumLength = 16 * 1024 * 1024;
/**
 * Documents whose digests are remembered: some 3 KB each. Three versions have 180, and 50 servers whose URLs have no
 * hashes 3,000.
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
  /** Whether the content can never be another under this key. */
  readonly isImmutable: boolean;
  /** The servers that have it. */
  readonly from: readonly ServerDocuments[];
}

/** What is known of a document. */
export type SchemaDocumentState =
  | { readonly kind: 'known'; readonly digests: ReadonlyMap<string, string> }
  | { readonly kind: 'failed'; readonly reason: string }
  /** It is being read for the first time. */
  | { readonly kind: 'pending' }
  /** It has not had its turn. */
  | { readonly kind: 'waiting' };

/** The digests of OpenAPI v3 documents, each read once. */
export interface SchemaDocuments {
  /** Documents that are known from elsewhere. */
  remember(key: string, digests: ReadonlyMap<string, string>): void;
  /**
   * Starts to read those that are not known. Never rejects; what it does not wait for goes on.
   *
   * @param maximum how many at the most; which of them is left to chance
   * @param patienceMilliseconds `undefined` waits for all of them, no longer than the time-out
   */
  read(
    documents: readonly SchemaDocument[],
    maximum: number,
    patienceMilliseconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  state(key: string): SchemaDocumentState;
  /** Forgets everything, and drops what is being read. */
  clear(): void;
}

const tooSlow = () => new ReadError('Unreachable', `not all were read within ${timeout} ms`);

interface Entry {
  digests: ReadonlyMap<string, string> | undefined;
  /** Why it could not be read the last time, where it could not. */
  fault: string | undefined;
  failures: number;
  isUnderWay: boolean;
  /** When it is read again, by the monotonic clock. */
  dueAt: number;
}

/** JSON in any case: servers from 1.31 on say so, and older ones may leave it to Go's guess, as of the index. */
const documentTypes = ['application/json', 'text/plain'];

async function digestsOf(
  server: ServerDocuments,
  { group, version, url }: SchemaDocument,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const bounded: ServerDocuments = {
    async get(...request) {
      const document = await server.get(...request);
      if (document.body.length <= maximumLength) return document;
      throw new ReadError('InvalidDocument', `${url} has more than ${maximumLength} characters`);
    },
  };
  const value = await getJsonIfServed(bounded, url, 'application/json', signal, documentTypes);
  if (value === undefined) throw new ReadError('UnexpectedStatus', `${url} is not served`);
  return schemaDigests(value, group, version);
}

export function createSchemaDocuments(clock: Pick<Clock, 'monotonic' | 'random' | 'sleep'>): SchemaDocuments {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  const limit = createLimiter(concurrentDocuments);
  let dropped = new AbortController();

  function used(key: string): Entry {
    const entry = entries.get(key) ?? {
      digests: undefined,
      fault: undefined,
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
    const { digests, fault, isUnderWay } = entries.get(key) ?? {};
    if (digests !== undefined) return { kind: 'known', digests };
    if (fault !== undefined) return { kind: 'failed', reason: fault };
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
      // Where one did not answer, another may.
      const server = from[entry.failures % from.length];
      const left = endsAt - clock.monotonic();
      if (server === undefined || left <= 0) throw tooSlow();
      const digests = await withDeadline(left, signal, tooSlow, async (deadline) =>
        digestsOf(server, document, deadline),
      );
      const dueAt = isImmutable ? Number.POSITIVE_INFINITY : clock.monotonic() + refreshedAfter;
      Object.assign(entry, { digests, fault: undefined, failures: 0, dueAt });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      entry.fault = reason.replaceAll(/\?hash=\w*/g, '');
      entry.failures++;
      entry.dueAt = clock.monotonic() + retriedAfter;
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
    remember(key, digests) {
      Object.assign(used(key), { digests, dueAt: Number.POSITIVE_INFINITY });
    },
    async read(documents, maximum, patienceMilliseconds, signal) {
      const now = clock.monotonic();
      const bounded = documents.slice(0, rememberedDocuments);
      const due = bounded.filter(({ key }) => {
        const { isUnderWay, dueAt } = used(key);
        return !isUnderWay && now >= dueAt;
      });
      // Where not all can be read at once, each has its turn.
      const start = due.length > maximum ? Math.floor(clock.random() * due.length) : 0;
      const chosen = [...due.slice(start), ...due.slice(0, start)].slice(0, maximum);
      // Of what was read once, or failed, something is said already.
      const news = chosen.filter(({ key }) => stateOf(key).kind === 'waiting');
      const others = chosen.filter((document) => !news.includes(document));
      const first = readAll(news, signal);
      const all = Promise.all([first, readAll(others, signal)]);
      if (patienceMilliseconds === undefined) await all;
      else if (news.length > 0) {
        const enough = new AbortController();
        const waited = clock.sleep(patienceMilliseconds, AbortSignal.any([signal, enough.signal]));
        await Promise.race([first, waited]);
        enough.abort();
      }
    },
    state: stateOf,
    clear() {
      dropped.abort();
      dropped = new AbortController();
      entries.clear();
    },
  };
}
