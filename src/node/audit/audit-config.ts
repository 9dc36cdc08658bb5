import type { AuditPolicy } from '../../observe/audit/audit-policy.ts';

/** What is audited, and where it is written. */
export interface AuditConfig {
  readonly policy: AuditPolicy;
  /** A file, or `-` for standard output. */
  readonly path: string;
  /** Bytes from which on a file is renamed. */
  readonly maximumSize: number;
  /** Milliseconds that a renamed file is kept; 0: as long as may be. */
  readonly maximumAge: number;
  /** Renamed files that are kept; 0: all. */
  readonly maximumBackups: number;
  /** Events that wait to be written at most; more are counted and lost. */
  readonly bufferSize: number;
}
