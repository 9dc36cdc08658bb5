import { gunzip, gzip } from '../../apimachinery/content-coding.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import {
  type DocumentReading,
  type DocumentSource,
  type ServerDocument,
  ServerDocumentError,
  type ServerDocumentForm,
} from './sources.ts';

/** Milliseconds for a document with an earlier copy, which is used when the server hangs. */
export const checkTimeout = 5_000;
/** Milliseconds after which a server that could not be read is tried again. */
const retriedEvery = 10_000;
/** Servers of one source that are tried, before its part is given up. */
const attemptsPerSource = 2;
/** Documents read at once. */
const concurrentReads = 2;

export interface ServerCopiesOptions extends Omit<DocumentReading, 'logger'> {
  /** For example `/openapi/v2`. */
  readonly path: string;
  readonly form: ServerDocumentForm;
  /** For the first reading of a document. Default: the reader's own. */
  readonly timeoutMilliseconds?: number | undefined;
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
  /** What it took the place of, until it has proved good. */
  readonly before: Copy | undefined;
}

/**
 * Copies of one document of several servers, brought up to date by `If-None-Match`. Of a server that cannot be read the
 * last copy is used.
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
    const limited = createLimiter(concurrentReads);
    return Promise.all(sources.map((source) => limited(() => this.#refreshSource(source))));
  }

  /**
   * What `parse` reads in a copy. Where it turns out to be no such document the one before it holds, if there is any.
   * @param parse throws a `DiscoveryDocumentError` for what is no such document
   */
  async parse<Content>(
    copy: ServerCopy,
    parse: (bytes: Uint8Array) => Content | Promise<Content>,
  ): Promise<Content | undefined> {
    for (let next: ServerCopy | undefined = copy; next !== undefined; ) {
      try {
        const content = await parse(await next.content());
        this.#keep(next);
        return content;
      } catch (error) {
        if (!(error instanceof DiscoveryDocumentError)) throw error;
        next = this.#reject(next, error.message);
      }
    }
    return undefined;
  }

  /** It has proved good: what it took the place of is let go. */
  #keep({ serverId, version }: ServerCopy): void {
    const copy = this.#copies.get(serverId);
    if (copy?.version === version) this.#copies.set(serverId, { ...copy, before: undefined });
  }

  #reject({ serverId, version }: ServerCopy, problem: string): ServerCopy | undefined {
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
    const { clock, localServerId, signal } = this.#options;
    // The local one first: what clients find there they expect here.
    const localId = localServerId?.();
    const isLocal = ({ id }: RoutingServer) => Number(id === localId);
    const servers = source.servers
      .toSorted((one, other) => isLocal(other) - isLocal(one))
      .slice(0, attemptsPerSource);
    for (const server of servers) {
      if (signal?.aborted === true) break;
      if (clock() < (this.#failures.get(server.id)?.retriedAt ?? Number.NEGATIVE_INFINITY)) continue;
      if (await this.#read(server)) return this.#copyOf(server.id);
    }
    for (const { id } of servers) {
      const copy = this.#copyOf(id);
      if (copy !== undefined) return copy;
    }
    return undefined;
  }

  async #read(server: RoutingServer): Promise<boolean> {
    const { read, path, form, timeoutMilliseconds } = this.#options;
    const known = this.#copies.get(server.id);
    try {
      const response = await read({
        server,
        path,
        accept: form.accept,
        ifNoneMatch: known?.etag,
        timeoutMilliseconds: known === undefined ? timeoutMilliseconds : checkTimeout,
      });
      const isUnchanged = known?.etag !== undefined && response.status === 304;
      if (!isUnchanged) {
        requireDocument(response, form);
        const { etag } = response;
        const packed = await gzip(new Uint8Array(response.body));
        // Servers without an ETag for it (that of OpenAPI v3's index has none) send the same again.
        if (known !== undefined && isEqual(known.packed, packed)) {
          this.#copies.set(server.id, { ...known, etag });
        } else {
          const before = known?.before ?? known;
          this.#copies.set(server.id, { version: ++this.#versions, etag, packed, before });
        }
      }
      this.#failures.delete(server.id);
      return true;
    } catch (error) {
      if (!(error instanceof ServerDocumentError)) throw error;
      this.#failed(server.id, error.message);
      return false;
    }
  }

  #failed(server: string, problem: string): void {
    if (this.#options.signal?.aborted === true) return;
    this.#failures.set(server, { problem, retriedAt: this.#options.clock() + retriedEvery });
    this.#options.onProblem(server, problem);
  }

  #copyOf(serverId: string): ServerCopy | undefined {
    const copy = this.#copies.get(serverId);
    if (copy === undefined) return undefined;
    return { serverId, version: copy.version, content: () => gunzip(copy.packed) };
  }
}

/** @throws {ServerDocumentError} when a response is not the document in the form that was asked for */
function requireDocument(
  { status, contentType }: ServerDocument,
  { mediaType, givenAs }: ServerDocumentForm,
): void {
  if (status !== 200) throw new ServerDocumentError(`The response was ${status} instead of 200.`);
  const given = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (givenAs.includes(given)) return;
  // Foreign text: cut to the length of a media type.
  const what = given === '' ? 'no content type' : given.slice(0, 80);
  throw new ServerDocumentError(`The response was ${what} instead of ${mediaType}.`);
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
