import type { Logger } from '../../runtime/logger.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { type EncodedDocument, jsonDocument } from '../forms/encoded-document.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import { Refreshed } from '../forms/refreshed.ts';
import { requireDocument } from '../openapi-v2/build-document.ts';
import { checkTimeout, ServerCopies, type ServerCopy } from '../openapi-v2/server-copies.ts';
import { type DocumentSource, documentSources, type ReadServerDocument } from '../openapi-v2/sources.ts';
import { type OpenApiV3Urls, openApiV3Index } from './openapi-v3.ts';
import { parseOpenApiV3Index } from './parse-openapi-v3.ts';

const openApiV3Path = '/openapi/v3';
/** Seen from 1.25 to 1.33: the index is JSON, and its type is left to Go's guess at the content. */
const indexForm = { mediaType: 'application/json', givenAs: ['application/json', 'text/plain'] };

export interface OpenApiV3IndexesOptions {
  readonly read: ReadServerDocument;
  /** Milliseconds of a clock that only rises. */
  readonly clock: () => number;
  readonly logger: Logger;
  /** The server that the router stands in front of; left out in the gateway form. */
  readonly localServerId?: string | undefined;
}

/**
 * The merged index `/openapi/v3`, at most a second older than the servers' own: what the snapshot says of it is older
 * by the time that a sync job takes. Where a server's index cannot be read the snapshot's word holds.
 */
export class OpenApiV3Indexes {
  readonly #copies: ServerCopies;
  readonly #refreshed: Refreshed;
  readonly #logger: Logger;
  #snapshot: Snapshot | undefined;
  #leadingMinor: string | undefined;
  #sources: readonly DocumentSource[] = [];
  #seen: OpenApiV3Urls = new Map();
  #seenVersions = '';
  #made: { readonly of: OpenApiV3Urls; readonly documents: Map<boolean, EncodedDocument> } | undefined;

  constructor({ read, clock, logger, localServerId }: OpenApiV3IndexesOptions) {
    this.#logger = logger;
    this.#copies = new ServerCopies({
      read,
      request: { path: openApiV3Path, accept: 'application/json', timeoutMilliseconds: checkTimeout },
      check: (response) => requireDocument(response, indexForm),
      clock,
      localServerId,
      onProblem: (server, problem) => {
        logger.warn({ server, problem }, 'The OpenAPI v3 index of a server cannot be used');
      },
    });
    this.#refreshed = new Refreshed({ clock, refresh: () => this.#refresh() });
  }

  /** @returns `undefined` when no server's index is known */
  async document(table: RoutingTable, pretty: boolean): Promise<EncodedDocument | undefined> {
    if (this.#snapshot !== table.snapshot || this.#leadingMinor !== table.leadingMinor) {
      this.#snapshot = table.snapshot;
      this.#leadingMinor = table.leadingMinor;
      this.#sources = documentSources(table);
      this.#seenVersions = '';
      this.#made = undefined;
      this.#refreshed.outdate();
    }
    await this.#refreshed.ready();
    if (this.#made?.of !== this.#seen) this.#made = { of: this.#seen, documents: new Map() };
    const known = this.#made.documents.get(pretty);
    if (known !== undefined) return known;
    const index = openApiV3Index(table, this.#seen);
    if (index === undefined) return undefined;
    const document = jsonDocument(index, pretty);
    this.#made.documents.set(pretty, document);
    return document;
  }

  async #urlsOf(copy: ServerCopy | undefined): Promise<Record<string, string> | undefined> {
    for (
      let next = copy;
      next !== undefined;
      next = this.#copies.reject(next, 'It is no OpenAPI v3 index.')
    ) {
      const urls = indexOf(await next.content());
      if (urls !== undefined) return urls;
    }
    return undefined;
  }

  async #refresh(): Promise<void> {
    const sources = this.#sources;
    try {
      const found = await this.#copies.refresh(sources);
      const versions = found.map((copy) => copy && `${copy.serverId} ${copy.version}`).join('\n');
      if (sources !== this.#sources || versions === this.#seenVersions) return;
      const seen = new Map<string, Readonly<Record<string, string>>>();
      for (const [index, copy] of found.entries()) {
        const urls = await this.#urlsOf(copy);
        if (urls === undefined) continue;
        for (const { id } of sources[index]?.servers ?? []) seen.set(id, urls);
      }
      if (sources !== this.#sources) return;
      this.#seen = seen;
      this.#seenVersions = versions;
    } catch (error) {
      this.#logger.error({ err: error }, 'The merged OpenAPI v3 index could not be brought up to date');
    }
  }
}

function indexOf(bytes: Uint8Array): Record<string, string> | undefined {
  try {
    return parseOpenApiV3Index(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DiscoveryDocumentError) return undefined;
    throw error;
  }
}
