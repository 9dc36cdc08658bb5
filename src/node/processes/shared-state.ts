import { FailureLog } from '../../observe/failure-log.ts';
import type { Logger } from '../../observe/logger.ts';
import { createMemorySnapshotStore } from '../../snapshot/memory-snapshot-store.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { createFileSnapshotStore } from '../file-snapshot-store.ts';
import { NumberFamily } from '../metrics/metric-family.ts';
import { processFamilies } from '../metrics/process-metrics.ts';
import { stateCatalogue } from '../metrics/state-catalogue.ts';
import { openAuditLog } from '../request-records.ts';
import type { ServeConfig } from '../serve-config.ts';
import type { ProcessQuestion, ProcessStart } from './messages.ts';
import { MetricsGathering, type ProcessStates } from './metrics-gathering.ts';
import { type MetricsReport, reportOf } from './metrics-report.ts';
import { NonceClaims } from './nonce-claims.ts';
import { SnapshotExchange } from './snapshot-exchange.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** What the supervisor knows of its processes when one of them asks something. */
export interface ProcessOverview {
  startOf(asking: SupervisedProcess): ProcessStart;
  /** All that run and answer, but for this one. */
  others(asking: SupervisedProcess): readonly SupervisedProcess[];
  /** Processes that do not serve (yet, or again). */
  starting(): number;
}

/** What all processes share, kept by the supervisor, which answers their questions from it. */
export class SharedState {
  readonly #overview: ProcessOverview;
  readonly #snapshots: SnapshotExchange;
  readonly #nonces = new NonceClaims();
  readonly #gathering = new MetricsGathering<SupervisedProcess>();
  readonly #auditLog: AuditLog | undefined;
  readonly #auditEvents: NumberFamily<readonly ['result']>;
  readonly #restarts = new NumberFamily(stateCatalogue.processRestarts);

  private constructor(
    overview: ProcessOverview,
    snapshots: SnapshotExchange,
    auditLog: AuditLog | undefined,
    auditEvents: NumberFamily<readonly ['result']>,
  ) {
    this.#overview = overview;
    this.#snapshots = snapshots;
    this.#auditLog = auditLog;
    this.#auditEvents = auditEvents;
  }

  /** @throws when the audit log cannot be opened. */
  static async open(
    { snapshot, records }: Pick<ServeConfig, 'snapshot' | 'records'>,
    overview: ProcessOverview,
    logger: Logger,
  ): Promise<SharedState> {
    const auditEvents = new NumberFamily(stateCatalogue.auditEvents);
    const failures = new FailureLog({ logger, clock: () => performance.now() });
    const auditLog =
      records.audit &&
      (await openAuditLog(records.audit, failures, (result, events) => {
        auditEvents.with(result).add(events);
      }));
    const { file } = snapshot;
    const store = file === undefined ? createMemorySnapshotStore() : createFileSnapshotStore(file);
    return new SharedState(overview, new SnapshotExchange(store, logger), auditLog, auditEvents);
  }

  /** Answers what a process asks. */
  async answer(asking: SupervisedProcess, question: ProcessQuestion): Promise<unknown> {
    switch (question.kind) {
      case 'start':
        return this.#overview.startOf(asking);
      case 'changed-snapshot':
        return this.#snapshots.changed(question.known);
      case 'save-snapshot':
        return this.#snapshots.save(question.known, question.stored, this.#overview.others(asking));
      case 'take-nonce':
        return this.#nonces.take(question.issuer, question.nonce, question.deadline);
      case 'gather-metrics':
        return this.#gathering.gather(asking, question.report, this.#servingOthers(asking), (states) =>
          this.#ownMetrics(states),
        );
      case 'last-metrics':
        this.#gathering.reported(asking, question.report);
        return null;
      case 'audit':
        for (const line of question.lines) this.#auditLog?.writeLine(line);
        return null;
      // Answered where the process is looked after.
      case 'ready':
      case 'failed':
        return null;
    }
  }

  /** A process has ended. @param isRestarted whether another takes its place */
  processEnded(ended: SupervisedProcess, isRestarted: boolean): void {
    this.#gathering.ended(ended);
    if (isRestarted) this.#restarts.with().add();
  }

  /** Goes on in new files, for whoever has renamed the old ones. Never rejects. */
  async reopen(): Promise<void> {
    await this.#auditLog?.reopen();
  }

  /** Writes what waits. Never rejects. */
  async close(): Promise<void> {
    await this.#auditLog?.close();
  }

  /** Those that do not serve yet count as starting, not as silent. */
  #servingOthers(asking: SupervisedProcess): readonly SupervisedProcess[] {
    return this.#overview.others(asking).filter(({ isReady }) => isReady);
  }

  /** The supervisor's own: its use of the machine, and what it alone knows. */
  async #ownMetrics({ silent }: ProcessStates): Promise<MetricsReport> {
    const processes = new NumberFamily(stateCatalogue.processes);
    processes.with('silent').set(silent);
    processes.with('starting').set(this.#overview.starting());
    return reportOf([...(await processFamilies()), this.#auditEvents, this.#restarts, processes], undefined);
  }
}
