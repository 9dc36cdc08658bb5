import type { AddressSource } from '../../snapshot/format/types.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

/** An API server as the sync job knows it before reading it. */
export interface ServerDescription {
  readonly id: string;
  /** `host:port`, for routers. At most one of `address` and `url`. */
  readonly address?: string | undefined;
  readonly url?: string | undefined;
  /** Who says so. */
  readonly addressSource?: AddressSource | undefined;
  /** TLS name; default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  readonly hostname?: string | undefined;
  /** Since when it has left and may come back, milliseconds since the epoch. */
  readonly departedAt?: number | undefined;
}

/** An API server that the sync job reads. */
export interface SyncServer extends ServerDescription {
  /** Another object where the server answers elsewhere: it is read anew then. */
  readonly documents: ServerDocuments;
  /** Names the process that serves under the ID, where that is known: another one is read at once. */
  readonly incarnation?: string | undefined;
}
