import type { Logger } from '../../runtime/logger.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { compareLeadership } from '../forms/leading-server.ts';

/** Servers that serve the same, so that one of them can speak for all. */
export interface DocumentSource {
  /** Key of the set that they serve. */
  readonly set: string;
  /** Those that can be reached before those that cannot, then by leadership. */
  readonly servers: readonly RoutingServer[];
}

/**
 * The sources of a merged document: one for each differing set, the leading one first, the same on every router. A set
 * holds the hashes of the OpenAPI v3 documents, so the v2 documents of its servers are alike too.
 */
export function documentSources(table: RoutingTable): DocumentSource[] {
  const leadingFirst = table.snapshot.servers.toSorted((one, other) =>
    compareLeadership(one, other, table.leadingMinor),
  );
  return [...Map.groupBy(leadingFirst, ({ serves }) => serves)].map(([set, members]) => ({
    set,
    servers: members
      .flatMap(({ id }) => table.server(id) ?? [])
      .sort((one, other) => Number(one.stale) - Number(other.stale)),
  }));
}

/** Whether servers differ, so that there is something to merge. */
export function hasDifferingServers({ snapshot: { servers } }: RoutingTable): boolean {
  const [first] = servers;
  return servers.some(({ serves }) => serves !== first?.serves);
}

export interface ServerDocumentRequest {
  readonly server: RoutingServer;
  /** For example `/openapi/v2`. */
  readonly path: string;
  readonly accept: string;
  /** The entity tag of the last response: 304 says that it is still current. */
  readonly ifNoneMatch?: string | undefined;
  /** For the whole document. Default: the reader's own. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** How API servers give a document. */
export interface ServerDocumentForm {
  readonly mediaType: string;
  /** For the `Accept` of a request to an API server. */
  readonly accept: string;
  /** The content types that it comes under, in lower case; API servers have not always named it truly. */
  readonly givenAs: readonly string[];
}

/** The response of one server. */
export interface ServerDocument {
  readonly status: number;
  /** Empty when there was none. */
  readonly contentType: string;
  readonly etag: string | undefined;
  readonly body: Uint8Array;
}

/**
 * Reads an OpenAPI document of one server itself, never of its aggregated API servers.
 * @throws {ServerDocumentError} (rejects) when no whole response arrived
 */
export type ReadServerDocument = (request: ServerDocumentRequest) => Promise<ServerDocument>;

/** What it takes to read and merge documents of servers. */
export interface DocumentReading {
  readonly read: ReadServerDocument;
  /** Milliseconds of a clock that only rises: ages are measured with it. */
  readonly clock: () => number;
  readonly logger: Logger;
  /** The server that the router stands in front of, in the table in use; left out in the gateway form. */
  readonly localServerId?: (() => string | undefined) | undefined;
  /** Once it aborts, no server is asked any more, and what fails is not the servers' fault. */
  readonly signal?: AbortSignal | undefined;
}

/** No whole document came; the message says why, without addresses. */
export class ServerDocumentError extends Error {
  override readonly name = 'ServerDocumentError';
}
