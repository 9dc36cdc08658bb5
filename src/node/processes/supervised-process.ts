import cluster, { type Worker } from 'node:cluster';
import { Channel } from './channel.ts';
import {
  type ListensAt,
  nothingSchema,
  type ProcessQuestion,
  processQuestionSchema,
  type SupervisorQuestion,
} from './messages.ts';
import type { MetricsSubject } from './metrics-gathering.ts';
import { type MetricsReport, metricsReportSchema } from './metrics-report.ts';
import { postMessage } from './post-message.ts';
import type { SnapshotUser } from './snapshot-exchange.ts';

/** Milliseconds that a pushed snapshot waits for one process to use it; its pusher waits as well. */
const catchUpTimeout = 5_000;
/** Milliseconds that a scrape waits for one process (Prometheus waits ten seconds). */
const reportTimeout = 2_000;
/** Milliseconds to look at all files. */
const reloadTimeout = 30_000;
const shutdownTimeout = 2_000;

/** How a process has ended. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** What it said itself; `undefined`: nothing. */
  readonly reason: string | undefined;
}

export interface SupervisedProcessOptions {
  readonly number: number;
  /** @returns what the process is answered; must not be `undefined` */
  readonly answer: (process: SupervisedProcess, question: ProcessQuestion) => Promise<unknown>;
  readonly onFault: (fault: string) => void;
}

/** One process of the router, from its start to its end. */
export class SupervisedProcess implements SnapshotUser, MetricsSubject {
  readonly number: number;
  /** When it was started: milliseconds of a clock that only rises. */
  readonly startedAt = performance.now();
  /** Where it listens, once it does; rejects with the reason when it ends before. */
  readonly ready: Promise<ListensAt>;
  readonly ended: Promise<ProcessEnd>;
  readonly #worker: Worker;
  readonly #tellReady: (listensAt: ListensAt) => void;
  readonly #channel: Channel<SupervisorQuestion, ProcessQuestion>;
  #hasJoined = false;
  #isReady = false;
  #reason: string | undefined;

  constructor({ number, answer, onFault }: SupervisedProcessOptions) {
    this.number = number;
    const worker = cluster.fork();
    const channel = new Channel<SupervisorQuestion, ProcessQuestion>({
      other: `process ${number}`,
      post: (message) => postMessage(worker, message),
      questions: processQuestionSchema,
      answer: (question) => this.#answer(question, answer),
      onFault,
    });
    this.#worker = worker;
    this.#channel = channel;
    const ready = Promise.withResolvers<ListensAt>();
    const ended = Promise.withResolvers<ProcessEnd>();
    this.ready = ready.promise;
    this.ended = ended.promise;
    this.#tellReady = ready.resolve;
    // Looked at when the router starts; later its end says the same.
    ready.promise.catch(() => {});
    const end = (exitCode: number | null, signal: string | null): void => {
      this.#isReady = false;
      channel.close();
      ready.reject(new Error(this.#reason ?? endedEarly(number, exitCode, signal)));
      ended.resolve({ exitCode, signal, reason: this.#reason });
    };
    worker.on('message', (message: unknown) => channel.receive(message));
    worker.once('disconnect', () => channel.close());
    worker.once('exit', end);
    worker.on('error', (error) => {
      this.#reason ??= error.message;
      // One that the system does not start at all (no memory, too many processes) has no other end.
      if (this.pid === undefined) end(null, null);
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** It has asked as what it is to run: from then on it answers. */
  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  /** It listens. */
  get isReady(): boolean {
    return this.#isReady;
  }

  async catchUp(): Promise<void> {
    await this.#channel.ask({ kind: 'catch-up' }, nothingSchema, catchUpTimeout);
  }

  reportMetrics(): Promise<MetricsReport> {
    return this.#channel.ask({ kind: 'report-metrics' }, metricsReportSchema, reportTimeout);
  }

  /** @throws {ChannelError} */
  async reload(): Promise<void> {
    await this.#channel.ask({ kind: 'reload' }, nothingSchema, reloadTimeout);
  }

  /** Has it end as configured. One that does not serve yet, or does not listen to it, is killed. */
  async shutDown(): Promise<void> {
    if (!this.#isReady) {
      this.kill();
      return;
    }
    await this.#channel
      .ask({ kind: 'shutdown' }, nothingSchema, shutdownTimeout)
      .catch(() => this.#worker.process.kill('SIGTERM'));
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  async #answer(question: ProcessQuestion, answer: SupervisedProcessOptions['answer']): Promise<unknown> {
    this.#hasJoined = true;
    if (question.kind === 'ready') {
      this.#isReady = true;
      this.#tellReady(question.listensAt);
      return null;
    }
    if (question.kind === 'failed') {
      this.#reason = question.reason;
      return null;
    }
    return answer(this, question);
  }
}

function endedEarly(number: number, exitCode: number | null, signal: string | null): string {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return `process ${number} ended with ${how} before it served`;
}
