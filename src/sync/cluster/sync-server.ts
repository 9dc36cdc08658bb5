import type { SnapshotServer } from '../../snapshot/format/schema.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';

/** An API server as the sync job knows it before reading it. */
export interface ServerDescription
  extends Pick<SnapshotServer, 'id' | 'address' | 'url' | 'addressSource' | 'serverName' | 'hostname'> {
  /** When its process acquired its Lease, milliseconds since the epoch by its own clock, as all who watch Leases read it. */
  readonly acquiredAt?: number | undefined;
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
