import type { Logger } from '../../observe/logger.ts';
import type { RoutingTable } from '../../snapshot/routing-table.ts';
import type { EncodedDocument } from '../encoded-document.ts';
import { type BuiltDocument, buildDocument, type DocumentProblem } from './build-document.ts';
import type { DocumentCodec } from './document-parts.ts';
import { jsonCodec } from './json-codec.ts';
import { protobufCodec } from './protobuf-codec.ts';
import { openApiV2Path, type ReadServerDocument, ServerDocumentError } from './server-document.ts';
import { type DocumentSource, documentSources, hasDifferingServers } from './sources.ts';

export type OpenApiV2Form = 'json' | 'protobuf';

export const openApiV2Codecs: Readonly<Record<OpenApiV2Form, DocumentCodec>> = {
  json: jsonCodec,
  protobuf: protobufCodec,
};
const forms: readonly OpenApiV2Form[] = ['json', 'protobuf'];

/**
 * Milliseconds after which a document that is asked for is compared with the servers' own again. API servers
 * bring new custom resources into this document up to a minute after all others.
 */
const comparedEvery = 60_000;
/** Milliseconds after which a server that could not be read is tried again, if the document is asked for. */
const retriedEvery = 10_000;

export interface MergedOpenApiV2Options {
  readonly read: ReadServerDocument;
  /** Milliseconds of a clock that only rises: ages are measured with it. */
  readonly clock: () => number;
  readonly logger: Logger;
}

interface Held extends BuiltDocument {
  /** Which sources it was made of. */
  readonly key: string;
  readonly checkedAt: number;
}

interface Wanted {
  readonly key: string;
  readonly sources: readonly DocumentSource[];
}

/**
 * The merged OpenAPI v2 document, in both its forms. The snapshot has no room for megabytes, so the router reads
 * the servers' documents itself: in the background, one after the other, once for each change of what they serve.
 * Requests get what is there; while there is nothing yet, the local server's own document.
 */
export class MergedOpenApiV2 {
  readonly #options: MergedOpenApiV2Options;
  readonly #held = new Map<OpenApiV2Form, Held>();
  #wanted: Wanted | undefined;
  #work: Promise<void> | undefined;
  readonly #due = new Set<OpenApiV2Form>();

  constructor(options: MergedOpenApiV2Options) {
    this.#options = options;
  }

  /** Takes note of a new routing table. Resolves when the documents are made from it; never rejects. */
  update(table: RoutingTable): Promise<void> {
    if (!hasDifferingServers(table)) {
      this.#wanted = undefined;
      this.#held.clear();
      return Promise.resolve();
    }
    const sources = documentSources(table);
    this.#wanted = { key: sources.map(({ set }) => set).join(' '), sources };
    return this.#catchUp();
  }

  /** What there is now; `undefined` while nothing is, and where all servers serve the same. */
  document(form: OpenApiV2Form): EncodedDocument | undefined {
    const held = this.#held.get(form);
    if (held === undefined) return undefined;
    const age = this.#options.clock() - held.checkedAt;
    if (age >= (held.missing > 0 ? retriedEvery : comparedEvery)) {
      this.#due.add(form);
      void this.#catchUp();
    }
    return held.document;
  }

  /** The servers whose part is missing, or was last read some time ago, and why. */
  problems(): DocumentProblem[] {
    const byServer = new Map<string, DocumentProblem>();
    for (const { problems } of this.#held.values()) {
      for (const { server, problem } of problems) {
        byServer.set(server, { path: openApiV2Path, server, problem });
      }
    }
    return [...byServer.values()];
  }

  /** One at a time: whatever changes meanwhile is taken up before it ends. */
  #catchUp(): Promise<void> {
    if (this.#work === undefined && this.#next() !== undefined) this.#work = this.#run();
    return this.#work ?? Promise.resolve();
  }

  async #run(): Promise<void> {
    let refreshing: OpenApiV2Form | undefined;
    try {
      for (refreshing = this.#next(); refreshing !== undefined; refreshing = this.#next()) {
        this.#due.delete(refreshing);
        if (this.#wanted !== undefined) await this.#refresh(refreshing, this.#wanted);
      }
    } catch (error) {
      const form = refreshing;
      this.#options.logger.error({ err: error, form }, 'The merged OpenAPI v2 document could not be built');
    }
    // In one step with the last look: what changes from here on begins a run of its own.
    this.#work = undefined;
  }

  #next(): OpenApiV2Form | undefined {
    const { key } = this.#wanted ?? {};
    if (key === undefined) return undefined;
    return forms.find((form) => this.#due.has(form) || this.#held.get(form)?.key !== key);
  }

  async #refresh(form: OpenApiV2Form, { key, sources }: Wanted): Promise<void> {
    const { read, clock, logger } = this.#options;
    const codec = openApiV2Codecs[form];
    const before = this.#held.get(form);
    if (before?.key === key && (await isUnchanged(before, sources, codec, read))) {
      this.#held.set(form, { ...before, checkedAt: clock() });
      return;
    }
    const built = await buildDocument(sources, codec, read);
    // Made here rather than when the first client asks.
    await built.document?.etag();
    await built.document?.gzipped();
    if (this.#wanted === undefined) return;
    for (const { server, problem } of built.problems) {
      logger.warn({ server, form, problem }, 'The OpenAPI v2 document of a server cannot be used');
    }
    // What a server said before it could not be read still holds, as long as it is said to serve the same.
    const keepsBefore =
      built.document === undefined || (before?.key === key && built.missing > before.missing);
    this.#held.set(form, {
      ...built,
      document: keepsBefore ? before?.document : built.document,
      missing: keepsBefore ? (before?.missing ?? built.missing) : built.missing,
      key,
      checkedAt: clock(),
    });
  }
}

/** Asks every server that a document was made from whether its own is still the same. */
async function isUnchanged(
  { problems, readings }: Held,
  sources: readonly DocumentSource[],
  { accept }: DocumentCodec,
  read: ReadServerDocument,
): Promise<boolean> {
  if (problems.length > 0) return false;
  const servers = sources.flatMap((source) => source.servers);
  for (const { serverId, etag } of readings) {
    const server = servers.find(({ id }) => id === serverId);
    if (server === undefined || etag === undefined) return false;
    try {
      const { status } = await read({ server, accept, ifNoneMatch: etag });
      if (status !== 304) return false;
    } catch (error) {
      if (error instanceof ServerDocumentError) return false;
      throw error;
    }
  }
  return true;
}
