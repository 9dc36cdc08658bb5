import type { AddressSource } from '../../snapshot/format/types.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

/** An API server as the sync job knows it before reading it. */
export interface ServerDescription {
  readonly id: string;
  /** `host:port`, for routers. At most one of `address` and `url`. */
  readonly address?: string | undefined;
  readonly url?: string | undefined;
  /** Source of the address. */
  readonly addressSource?: AddressSource | undefined;
  /** TLS name; default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  readonly hostname?: string | undefined;
  /** When it departed, milliseconds since the epoch; it may come back. */
  readonly departedAt?: number | undefined;
}

/** An API server that the sync job reads. */
export interface SyncServer extends ServerDescription {
  /** A new object when the server has a new address: it is read at once then. */
  readonly documents: ServerDocuments;
  /** Identifies the process of the server, if known. A new process is read at once. */
  readonly incarnation?: string | undefined;
}
