import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';

export const openApiV2Path = '/openapi/v2';

export interface ServerDocumentRequest {
  readonly server: RoutingServer;
  /** For example `/openapi/v2`. */
  readonly path: string;
  readonly accept: string;
  /** The entity tag of what was read before: 304 says that it still holds. */
  readonly ifNoneMatch?: string | undefined;
  /** For the whole document. Default: the reader's own. */
  readonly timeoutMilliseconds?: number | undefined;
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

/** No whole document came; the message says why, without addresses. */
export class ServerDocumentError extends Error {
  override readonly name = 'ServerDocumentError';
}
