import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { openApiV2Path } from '../forms/discovery-path.ts';
import type { EncodedDocument } from '../forms/encoded-document.ts';
import { Refreshed } from '../server-documents/refreshed.ts';
import { ServerCopies } from '../server-documents/server-copies.ts';
import {
  type DocumentReading,
  type DocumentSource,
  documentSources,
  hasDifferingServers,
} from '../server-documents/sources.ts';
import { buildDocument, type DocumentProblem } from './build-document.ts';
import type { DocumentCodec } from './document-parts.ts';
import { jsonCodec } from './json-codec.ts';
import { protobufCodec } from './protobuf-codec.ts';

export type OpenApiV2Form = 'json' | 'protobuf';

export const openApiV2Codecs: Readonly<Record<OpenApiV2Form, DocumentCodec>> = {
  json: jsonCodec,
  protobuf: protobufCodec,
};

/** Differing sets that are merged at most; a cluster in an upgrade has two or three. */
const maximumSources = 8;
/** Milliseconds from a request on in which a form is made ahead of the next one when the servers change. */
const wantedFor = 60_000;

/**
 * The merged OpenAPI v2 document, in both its forms. The snapshot has no room for megabytes, so the router reads the
 * servers' documents itself, and keeps a copy of each. A document that is asked for is first compared with the
 * servers' own, unless that was done within the last second: clients validate what they send by it, and a
 * CustomResourceDefinition is in it as soon as it is at its server. While nothing has been made yet, requests get the
 * local server's own document.
 */
export class MergedOpenApiV2 {
  readonly #clock: () => number;
  readonly #forms: Readonly<Record<OpenApiV2Form, MergedForm>>;
  #key: string | undefined;

  constructor(options: DocumentReading) {
    this.#clock = options.clock;
    this.#forms = { json: new MergedForm('json', options), protobuf: new MergedForm('protobuf', options) };
  }

  /** Takes a new routing table. Resolves when the documents are made from it; never rejects. */
  async update(table: RoutingTable): Promise<void> {
    if (!hasDifferingServers(table)) {
      this.#key = undefined;
      for (const form of Object.values(this.#forms)) form.want(undefined);
      return;
    }
    const sources = documentSources(table);
    const key = sources.map(({ set, servers }) => [set, ...servers.map(({ id }) => id)].join(' ')).join('\n');
    if (key !== this.#key) {
      this.#key = key;
      for (const form of Object.values(this.#forms)) form.want(sources);
    }
    const since = this.#clock() - wantedFor;
    await Promise.all(Object.values(this.#forms).map((form) => form.prepare(since)));
  }

  /**
   * The document, at most a second older than the servers' own.
   * @returns `undefined` while nothing is made yet, and where all servers serve the same
   */
  document(form: OpenApiV2Form): Promise<EncodedDocument | undefined> {
    return this.#forms[form].document();
  }

  /** The servers whose part is missing, or was last read some time ago, and why. */
  problems(): DocumentProblem[] {
    const byServer = new Map<string, DocumentProblem>();
    for (const form of Object.values(this.#forms)) {
      for (const { server, problem } of form.problems()) {
        byServer.set(server, { path: openApiV2Path, server, problem });
      }
    }
    return [...byServer.values()];
  }
}

class MergedForm {
  readonly #form: OpenApiV2Form;
  readonly #options: DocumentReading;
  readonly #refreshed: Refreshed;
  #copies: ServerCopies;
  #sources: readonly DocumentSource[] | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #document: EncodedDocument | undefined;
  /** What it was made of. */
  #madeOf: string | undefined;
  #problems: readonly Omit<DocumentProblem, 'path'>[] = [];

  constructor(form: OpenApiV2Form, options: DocumentReading) {
    this.#form = form;
    this.#options = options;
    this.#copies = this.#newCopies();
    this.#refreshed = new Refreshed({ clock: options.clock, refresh: () => this.#refresh() });
  }

  /** @param sources what it is made of; `undefined` when it is not to be made */
  want(sources: readonly DocumentSource[] | undefined): void {
    this.#sources = sources;
    this.#refreshed.outdate();
    if (sources !== undefined) return;
    this.#copies = this.#newCopies();
    this.#document = undefined;
    this.#madeOf = undefined;
    this.#problems = [];
  }

  /** @param since a form that was asked for since then is kept up to date; one that is not there is always made */
  async prepare(since: number): Promise<void> {
    if (this.#madeOf === undefined || this.#askedAt >= since) await this.#refreshed.look();
  }

  async document(): Promise<EncodedDocument | undefined> {
    if (this.#sources === undefined) return undefined;
    this.#askedAt = this.#options.clock();
    // The first one is long in the making, and the local server's own is there meanwhile.
    if (this.#document === undefined) void this.#refreshed.look();
    else await this.#refreshed.ready();
    return this.#document;
  }

  problems(): readonly Omit<DocumentProblem, 'path'>[] {
    return [...this.#copies.problems(), ...this.#problems];
  }

  #newCopies(): ServerCopies {
    const { read, clock, logger, localServerId, signal } = this.#options;
    return new ServerCopies({
      read,
      path: openApiV2Path,
      form: openApiV2Codecs[this.#form],
      clock,
      localServerId,
      signal,
      onProblem: (server, problem) => {
        const fields = { server, form: this.#form, problem };
        logger.warn(fields, 'The OpenAPI v2 document of a server cannot be used');
      },
    });
  }

  async #refresh(): Promise<void> {
    const sources = this.#sources;
    if (sources === undefined) return;
    const copies = this.#copies;
    try {
      const found = await copies.refresh(sources.slice(0, maximumSources));
      const madeOf = found.map((copy) => copy && `${copy.serverId} ${copy.version}`).join('\n');
      if (madeOf === this.#madeOf || copies !== this.#copies) return;
      const { document, problems } = await buildDocument(found, openApiV2Codecs[this.#form], copies);
      // Made here rather than by each of those who wait for it.
      await document?.etag();
      await document?.gzipped();
      if (copies !== this.#copies) return;
      this.#document = document ?? this.#document;
      this.#madeOf = madeOf;
      this.#problems = [...problems, ...leftOut(sources)];
    } catch (error) {
      const form = this.#form;
      this.#options.logger.error({ err: error, form }, 'The merged OpenAPI v2 document could not be built');
    }
  }
}

function leftOut(sources: readonly DocumentSource[]): Omit<DocumentProblem, 'path'>[] {
  return sources.slice(maximumSources).map(({ servers }) => ({
    server: servers[0]?.id ?? '',
    problem: 'too many differing servers to merge',
  }));
}
