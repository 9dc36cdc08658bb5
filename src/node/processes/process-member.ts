import cluster from 'node:cluster';
import type { SharedNonces } from '../../identity/assertion/shared-nonces.ts';
import type { SnapshotReceiver, SnapshotReceiverOptions } from '../../snapshot/receiver.ts';
import { SharingReceiver } from '../../snapshot/sharing-receiver.ts';
import type { RunningRouter } from '../serve-config.ts';
import { AuditForwarder } from './audit-forwarder.ts';
import { Channel } from './channel.ts';
import {
  admissionSchema,
  nothingSchema,
  type ProcessQuestion,
  type ProcessStart,
  processStartSchema,
  type SupervisorQuestion,
  supervisorQuestionSchema,
} from './messages.ts';
import { familiesOf, type MetricsReport, metricsReportSchema } from './metrics-report.ts';
import { postMessage } from './post-message.ts';
import type { MetricsSharing, ProcessSharing } from './process-sharing.ts';
import { ProcessSnapshotStore } from './process-snapshot-store.ts';

/** Milliseconds to hear of a nonce: a request waits for it. */
const nonceTimeout = 2_000;
/** Milliseconds at the start and at the end, when nobody waits. */
const lifeTimeout = 10_000;
/** Milliseconds for the metrics of all processes: longer than the supervisor waits for one of them. */
const gatherTimeout = 5_000;
/** Milliseconds for lines of the audit log, behind which others may wait. */
const auditTimeout = 10_000;

/** What is asked of the router in this process, once it is there. */
type MemberRouter = Pick<RunningRouter, 'origin' | 'adminOrigin' | 'reload'>;

/** One process of several: its end of the channel to the supervisor. */
export class ProcessMember {
  /** Resolves when the supervisor has the router end. */
  readonly shutdownAsked: Promise<void>;
  readonly start: ProcessStart;
  readonly sharing: ProcessSharing;
  readonly #channel: Channel<ProcessQuestion, SupervisorQuestion>;
  readonly #state: MemberState;

  private constructor(
    start: ProcessStart,
    channel: Channel<ProcessQuestion, SupervisorQuestion>,
    state: MemberState,
  ) {
    this.start = start;
    this.shutdownAsked = state.shutdownAsked;
    this.#channel = channel;
    this.#state = state;
    this.sharing = sharingOf(start, channel, state);
  }

  /**
   * Asks the supervisor as what this process is to run.
   * @param onFault told of messages that cannot be understood
   * @throws {ChannelError}
   */
  static async join(onFault: (fault: string) => void): Promise<ProcessMember> {
    const { worker } = cluster;
    if (worker === undefined) throw new TypeError('this process was not started by a supervisor');
    const state = new MemberState();
    const channel = new Channel<ProcessQuestion, SupervisorQuestion>({
      other: 'the supervisor',
      post: (message) => postMessage(worker, message),
      questions: supervisorQuestionSchema,
      answer: (question) => state.answer(question),
      onFault,
    });
    worker.on('message', (message: unknown) => channel.receive(message));
    worker.once('disconnect', () => channel.close());
    const start = await channel.ask({ kind: 'start' }, processStartSchema, lifeTimeout);
    return new ProcessMember(start, channel, state);
  }

  /**
   * Calls `listener` when the supervisor has gone without a word. Right behind it this process ends (node:cluster): it
   * gets no connections any more, and must not stand beside a router that is started in the old one's place.
   */
  onSupervisorLost(listener: () => void): void {
    const { worker } = cluster;
    worker?.once('disconnect', () => {
      if (!worker.exitedAfterDisconnect) listener();
    });
  }

  /** The router listens: from now on the supervisor may ask it something. */
  async ready(router: MemberRouter): Promise<void> {
    const { origin, adminOrigin } = router;
    this.#state.router = router;
    await this.#channel.ask(
      { kind: 'ready', listensAt: { origin, adminOrigin } },
      nothingSchema,
      lifeTimeout,
    );
  }

  /** The router cannot start, for this reason. */
  async failed(reason: string): Promise<void> {
    await this.#channel.ask({ kind: 'failed', reason }, nothingSchema, lifeTimeout);
  }

  /** Hands over the last counts and lets the process end. Never rejects. */
  async leave(): Promise<void> {
    try {
      const report = await this.#state.report?.();
      if (report !== undefined) {
        await this.#channel.ask({ kind: 'last-metrics', report }, nothingSchema, lifeTimeout);
      }
    } catch {
      // The supervisor has what this process reported before.
    } finally {
      cluster.worker?.disconnect();
    }
  }
}

/** What the supervisor's questions are answered from; filled in while the router is put together. */
class MemberState {
  receiver: SharingReceiver | undefined;
  report: (() => Promise<MetricsReport>) | undefined;
  router: MemberRouter | undefined;
  readonly shutdownAsked: Promise<void>;
  readonly #askShutdown: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.shutdownAsked = promise;
    this.#askShutdown = resolve;
  }

  async answer(question: SupervisorQuestion): Promise<unknown> {
    switch (question.kind) {
      case 'catch-up':
        // Without a receiver yet, it is restored from what is stored by then.
        await this.receiver?.catchUp();
        return null;
      case 'report-metrics':
        if (this.report === undefined) throw new Error('there are no metrics yet');
        return this.report();
      case 'reload':
        await this.router?.reload();
        return null;
      case 'shutdown':
        this.#askShutdown();
        return null;
    }
  }
}

function sharingOf(
  { number, of }: ProcessStart,
  channel: Channel<ProcessQuestion, SupervisorQuestion>,
  state: MemberState,
): ProcessSharing {
  const nonces: SharedNonces = {
    take: (issuer, nonce, deadline) =>
      channel.ask({ kind: 'take-nonce', issuer, nonce, deadline }, admissionSchema, nonceTimeout),
  };
  const metrics: MetricsSharing = {
    reportWith(report) {
      state.report = report;
    },
    async gather(report) {
      const all = await channel.ask({ kind: 'gather-metrics', report }, metricsReportSchema, gatherTimeout);
      return familiesOf(all);
    },
  };
  return {
    place: { number, of },
    nonces,
    metrics,
    createReceiver(options: Omit<SnapshotReceiverOptions, 'store'>): SnapshotReceiver {
      const receiver = new SharingReceiver({ ...options, store: new ProcessSnapshotStore(channel) });
      state.receiver = receiver;
      return receiver;
    },
    createAuditRecorder: (options) =>
      new AuditForwarder({
        ...options,
        bufferSize: Math.ceil(options.bufferSize / of),
        async handOver(lines) {
          await channel.ask({ kind: 'audit', lines: [...lines] }, nothingSchema, auditTimeout);
        },
      }),
  };
}
