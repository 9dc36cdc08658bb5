import type { AuditPolicy } from '../../observe/audit/audit-policy.ts';

/** What is audited, and where events are written. */
export interface AuditConfig {
  readonly policy: AuditPolicy;
  /** A file, or `-` for standard output. */
  readonly path: string;
  /** Bytes at which a file is rotated. */
  readonly maximumSize: number;
  /** Milliseconds that a rotated file is kept; 0: no limit. */
  readonly maximumAge: number;
  /** Rotated files that are kept; 0: all. */
  readonly maximumBackups: number;
  /** Buffered events at most; more are dropped and counted. */
  readonly bufferSize: number;
}
