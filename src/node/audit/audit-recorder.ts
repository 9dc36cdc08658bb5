import type { AuditSink } from '../../observe/audit/audit-event.ts';

/** Where audit events go, for as long as the router runs. */
export interface AuditRecorder extends AuditSink {
  /** Goes on in a new file of the old name, for whoever has renamed the old one. Resolves when that is done. */
  reopen(): Promise<void>;
  /** Writes what waits. Never rejects. */
  close(): Promise<void>;
}
