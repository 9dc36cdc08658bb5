import { addCounts, destinationsIn, mergeReports, withoutGoneDestinations } from './merge-reports.ts';
import type { MetricsReport } from './metrics-report.ts';

/** A process that is asked for its metrics. */
export interface MetricsSubject {
  /** @throws when it does not answer in time, or ends meanwhile */
  reportMetrics(): Promise<MetricsReport>;
}

/** How many processes there are besides those that answer. */
export interface ProcessStates {
  /** They run and do not answer. */
  readonly silent: number;
}

const nothingCounted: MetricsReport = { destinations: null, families: [] };

/**
 * Makes one answer of the metrics of all processes. Whatever has been answered was known here first, and the counts of
 * a process that has ended stay: to Prometheus a counter that falls is a restart of the whole router.
 */
export class MetricsGathering<Subject extends MetricsSubject> {
  readonly #last = new Map<Subject, MetricsReport>();
  readonly #hasEnded = new WeakSet<Subject>();
  /** What those that have ended have counted. */
  #ended = nothingCounted;

  /**
   * @param scraped the process that is scraped, and `own` its metrics
   * @param others the other processes that run
   * @param ofSupervisor the supervisor's own metrics, asked for when it is known how many processes are silent
   */
  async gather(
    scraped: Subject,
    own: MetricsReport,
    others: readonly Subject[],
    ofSupervisor: (states: ProcessStates) => Promise<MetricsReport>,
  ): Promise<MetricsReport> {
    this.#last.set(scraped, own);
    const answered = new Set<Subject>();
    await Promise.all(
      others.map(async (other) => {
        try {
          this.#last.set(other, await other.reportMetrics());
          answered.add(other);
        } catch {
          // Its last counts speak for it; the gauge of processes says that it is silent.
        }
      }),
    );
    // One that has answered and ended since is among the ended.
    const running = others.filter((other) => !this.#hasEnded.has(other));
    const answering = running.filter((other) => answered.has(other));
    const silent = running.length - answering.length;
    const supervisor = await ofSupervisor({ silent });
    const reports = answering.flatMap((other) => this.#last.get(other) ?? []);
    this.#ended = withoutGoneDestinations(this.#ended, destinationsIn([own, ...reports]));
    return mergeReports({
      own,
      others: [...reports, supervisor],
      countsOnly: [
        ...running.flatMap((other) => (answered.has(other) ? [] : (this.#last.get(other) ?? []))),
        this.#ended,
      ],
    });
  }

  /** What a process that ends has counted to the last. */
  reported(subject: Subject, report: MetricsReport): void {
    this.#last.set(subject, report);
  }

  /** A process has ended: from now on its counts are its last ones. */
  ended(subject: Subject): void {
    const last = this.#last.get(subject);
    this.#last.delete(subject);
    this.#hasEnded.add(subject);
    if (last !== undefined) this.#ended = addCounts([this.#ended, last]);
  }
}
