import { gunzip, gzip } from '../forms/encoded-document.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import {
  type DocumentSource,
  type ReadServerDocument,
  type ServerDocument,
  ServerDocumentError,
  type ServerDocumentRequest,
  serversToAsk,
} from './sources.ts';

/** Milliseconds for a document with an earlier copy, which is used when the server hangs. */
export const checkTimeout = 5_000;
/** Milliseconds after which a server that could not be read is tried again. */
const retriedEvery = 10_000;
/** Servers of one source that are tried, before its part is given up. */
const attemptsPerSource = 2;
/** Documents read at once. */
const concurrentReads = 2;

export interface ServerCopiesOptions {
  readonly read: ReadServerDocument;
  /** Path and form of the document. */
  readonly request: Pick<ServerDocumentRequest, 'path' | 'accept' | 'timeoutMilliseconds'>;
  /** Whether a response with 200 is the document. @throws {ServerDocumentError} */
  readonly check: (response: ServerDocument) => void;
  /** Milliseconds of a clock that only rises. */
  readonly clock: () => number;
  readonly localServerId?: string | undefined;
  /** Told of each failure. */
  readonly onProblem: (server: string, problem: string) => void;
}

/** The document of one source as it was last read. */
export interface ServerCopy {
  readonly serverId: string;
  /** The same for the same content. */
  readonly version: number;
  readonly content: () => Promise<Uint8Array>;
}

interface Copy {
  readonly version: number;
  readonly etag: string | undefined;
  /** With gzip: documents have megabytes. */
  readonly packed: Uint8Array<ArrayBuffer>;
  /** What it took the place of, while it has not been used. */
  readonly before: Copy | undefined;
}

/**
 * Copies of one document of several servers, brought up to date by `If-None-Match`. What a server said before it could
 * not be read still holds.
 */
export class ServerCopies {
  readonly #options: ServerCopiesOptions;
  readonly #copies = new Map<string, Copy>();
  readonly #failures = new Map<string, { readonly problem: string; readonly retriedAt: number }>();
  #versions = 0;

  constructor(options: ServerCopiesOptions) {
    this.#options = options;
  }

  /** Looks at one server of each source. @returns by source; `undefined` where nothing was ever read */
  async refresh(sources: readonly DocumentSource[]): Promise<readonly (ServerCopy | undefined)[]> {
    const servers = new Set(sources.flatMap((source) => source.servers.map(({ id }) => id)));
    for (const known of [this.#copies, this.#failures]) {
      for (const id of known.keys()) if (!servers.has(id)) known.delete(id);
    }
    const found: (ServerCopy | undefined)[] = sources.map(() => undefined);
    const waiting = [...sources.entries()];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, source] = next;
        found[index] = await this.#refreshSource(source);
      }
    };
    await Promise.all(Array.from({ length: concurrentReads }, work));
    return found;
  }

  /** A copy turned out to be no such document: the one before it, if there is any, holds. */
  reject({ serverId, version }: ServerCopy, problem: string): ServerCopy | undefined {
    const copy = this.#copies.get(serverId);
    if (copy?.version !== version) return this.#copyOf(serverId);
    this.#failed(serverId, problem);
    if (copy.before === undefined) this.#copies.delete(serverId);
    else this.#copies.set(serverId, copy.before);
    return this.#copyOf(serverId);
  }

  /** The servers whose document could not be read lately, and why. */
  problems(): readonly { readonly server: string; readonly problem: string }[] {
    return [...this.#failures].map(([server, { problem }]) => ({ server, problem }));
  }

  async #refreshSource(source: DocumentSource): Promise<ServerCopy | undefined> {
    const { clock, localServerId } = this.#options;
    const servers = serversToAsk(source, localServerId).slice(0, attemptsPerSource);
    for (const server of servers) {
      if (clock() < (this.#failures.get(server.id)?.retriedAt ?? Number.NEGATIVE_INFINITY)) continue;
      if (await this.#read(server)) return this.#copyOf(server.id);
    }
    for (const { id } of servers) {
      const copy = this.#copyOf(id);
      if (copy !== undefined) return copy;
    }
    return undefined;
  }

  async #read(server: ServerDocumentRequest['server']): Promise<boolean> {
    const { read, request, check } = this.#options;
    const known = this.#copies.get(server.id);
    try {
      const response = await read({
        ...request,
        server,
        ...(known === undefined ? {} : { ifNoneMatch: known.etag, timeoutMilliseconds: checkTimeout }),
      });
      const isUnchanged = known?.etag !== undefined && response.status === 304;
      if (!isUnchanged) {
        check(response);
        const { etag } = response;
        const packed = await gzip(new Uint8Array(response.body));
        // Servers without an ETag for it (that of OpenAPI v3's index has none) send the same again.
        const isSame = known !== undefined && isEqual(known.packed, packed);
        const version = isSame ? known.version : ++this.#versions;
        this.#copies.set(server.id, { version, etag, packed, before: known && withoutBefore(known) });
      }
      this.#failures.delete(server.id);
      return true;
    } catch (error) {
      if (!(error instanceof ServerDocumentError || error instanceof DiscoveryDocumentError)) throw error;
      this.#failed(server.id, error.message);
      return false;
    }
  }

  #failed(server: string, problem: string): void {
    this.#failures.set(server, { problem, retriedAt: this.#options.clock() + retriedEvery });
    this.#options.onProblem(server, problem);
  }

  #copyOf(serverId: string): ServerCopy | undefined {
    const copy = this.#copies.get(serverId);
    if (copy === undefined) return undefined;
    return { serverId, version: copy.version, content: () => gunzip(copy.packed) };
  }
}

function withoutBefore(copy: Copy): Copy {
  return { ...copy, before: undefined };
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
