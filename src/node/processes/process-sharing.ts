import type { SharedNonces } from '../../identity/assertion/shared-nonces.ts';
import type { ProcessPlace } from '../../observe/z-pages.ts';
import type { SnapshotReceiver, SnapshotReceiverOptions } from '../../snapshot/receiver.ts';
import type { AuditRecorder } from '../audit/audit-recorder.ts';
import type { ExposedFamily } from '../metrics/metric-family.ts';
import type { AuditForwarderOptions } from './audit-forwarder.ts';
import type { MetricsReport } from './metrics-report.ts';

/** Metrics of all processes, for the one that is scraped. */
export interface MetricsSharing {
  /** From now on this process can be asked for its metrics. */
  reportWith(report: () => Promise<MetricsReport>): void;
  /** @throws {ChannelError} when the supervisor does not answer: half the metrics would be wrong ones */
  gather(own: MetricsReport): Promise<readonly ExposedFamily[]>;
}

/** What a router that is one of several processes shares with the others, in place of what it would have by itself. */
export interface ProcessSharing {
  readonly place: ProcessPlace;
  /** Assertions that are believed in one process are replays in all others. */
  readonly nonces: SharedNonces;
  readonly metrics: MetricsSharing;
  /** A receiver that hands on what it takes, and takes what others hand on. */
  createReceiver(options: Omit<SnapshotReceiverOptions, 'store'>): SnapshotReceiver;
  /** An audit log that somebody else writes. */
  createAuditRecorder(options: Omit<AuditForwarderOptions, 'handOver'>): AuditRecorder;
}
