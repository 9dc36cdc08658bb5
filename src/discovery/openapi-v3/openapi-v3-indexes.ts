import type { Logger } from '../../runtime/logger.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { type EncodedDocument, jsonDocument } from '../forms/encoded-document.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import { Refreshed } from '../server-documents/refreshed.ts';
import { checkTimeout, ServerCopies } from '../server-documents/server-copies.ts';
import {
  type DocumentReading,
  type DocumentSource,
  documentSources,
  type ServerDocumentForm,
} from '../server-documents/sources.ts';
import { type OpenApiV3Urls, openApiV3Index } from './openapi-v3.ts';
import { parseOpenApiV3Index } from './parse-openapi-v3.ts';

const openApiV3Path = '/openapi/v3';
/** Seen from 1.25 to 1.33: the index is JSON, and its type is left to Go's guess at the content. */
const indexForm: ServerDocumentForm = {
  mediaType: 'application/json',
  accept: 'application/json',
  givenAs: ['application/json', 'text/plain'],
};

/** What of a routing table the index is made of; a renewal changes nothing of it. */
interface Basis extends Pick<RoutingTable, 'snapshot' | 'leadingMinor'> {
  readonly sources: readonly DocumentSource[];
}

interface MadeIndex {
  readonly basis: Basis;
  readonly seen: OpenApiV3Urls;
  /** By whether it is pretty. */
  readonly documents: Map<boolean, EncodedDocument>;
}

/**
 * The merged index `/openapi/v3`, at most a second older than the servers' own: what the snapshot says of it is older
 * by the time that a sync job takes. Where a server's index cannot be read the snapshot's word holds.
 */
export class OpenApiV3Indexes {
  readonly #copies: ServerCopies;
  readonly #refreshed: Refreshed;
  readonly #logger: Logger;
  #basis: Basis | undefined;
  #seen: OpenApiV3Urls = new Map();
  #seenVersions = '';
  #made: MadeIndex | undefined;

  constructor(options: DocumentReading) {
    const { clock, logger } = options;
    this.#logger = logger;
    this.#copies = new ServerCopies({
      ...options,
      path: openApiV3Path,
      form: indexForm,
      timeoutMilliseconds: checkTimeout,
      onProblem: (server, problem) => {
        logger.warn({ server, problem }, 'The OpenAPI v3 index of a server cannot be used');
      },
    });
    this.#refreshed = new Refreshed({ clock, refresh: () => this.#refresh() });
  }

  /** @returns `undefined` when no server's index is known */
  async document(table: RoutingTable, pretty: boolean): Promise<EncodedDocument | undefined> {
    const basis = this.#basisOf(table);
    await this.#refreshed.ready();
    // Another snapshot may have come meanwhile, and another request may have made the index of that one.
    if (this.#made?.basis !== basis || this.#made.seen !== this.#seen) {
      this.#made = { basis, seen: this.#seen, documents: new Map() };
    }
    const { documents } = this.#made;
    const known = documents.get(pretty);
    if (known !== undefined) return known;
    const index = openApiV3Index(table, this.#seen);
    if (index === undefined) return undefined;
    const document = jsonDocument(index, pretty);
    documents.set(pretty, document);
    return document;
  }

  #basisOf(table: RoutingTable): Basis {
    const { snapshot, leadingMinor } = table;
    const known = this.#basis;
    if (known?.snapshot === snapshot && known.leadingMinor === leadingMinor) return known;
    const basis = { snapshot, leadingMinor, sources: documentSources(table) };
    this.#basis = basis;
    this.#seenVersions = '';
    this.#refreshed.outdate();
    return basis;
  }

  async #refresh(): Promise<void> {
    const basis = this.#basis;
    const sources = basis?.sources ?? [];
    try {
      const found = await this.#copies.refresh(sources);
      const versions = found.map((copy) => copy && `${copy.serverId} ${copy.version}`).join('\n');
      if (basis !== this.#basis || versions === this.#seenVersions) return;
      const seen = new Map<string, Readonly<Record<string, string>>>();
      for (const [index, copy] of found.entries()) {
        const urls = copy && (await this.#copies.parse(copy, indexOf));
        if (urls === undefined) continue;
        for (const { id } of sources[index]?.servers ?? []) seen.set(id, urls);
      }
      if (basis !== this.#basis) return;
      this.#seen = seen;
      this.#seenVersions = versions;
    } catch (error) {
      this.#logger.error({ err: error }, 'The merged OpenAPI v3 index could not be brought up to date');
    }
  }
}

function indexOf(bytes: Uint8Array): Record<string, string> {
  return parseOpenApiV3Index(parseJson(bytes));
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new DiscoveryDocumentError('InvalidDocument', 'This is no OpenAPI v3 index: it is no JSON.');
  }
}
