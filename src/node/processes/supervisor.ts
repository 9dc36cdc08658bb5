import cluster from 'node:cluster';
import process from 'node:process';
import type { Logger } from '../../observe/logger.ts';
import type { ConfigurationSource } from '../reload/configuration-source.ts';
import type { RunningRouter, ServeConfig } from '../serve-config.ts';
import type { ListensAt, ProcessStart } from './messages.ts';
import { restartDelay, steadyAfter } from './restart-delay.ts';
import { type ProcessOverview, SharedState } from './shared-state.ts';
import { type ProcessEnd, SupervisedProcess } from './supervised-process.ts';

/** A running router of several processes. */
export type RunningProcesses = Omit<RunningRouter, 'close'>;

/**
 * Starts `config.processes` processes of the router on one port. Resolves once all of them serve. This process serves
 * nothing: it hands connections to them in turn, starts those again that end, and keeps what they share.
 * @param configuration the configuration file as it was read, which each process starts with, whatever it is by then
 * @throws when the audit log cannot be opened, or a process cannot start, with its reason; none is left running then.
 */
export async function startProcesses(
  config: ServeConfig,
  configuration: Pick<ConfigurationSource, 'path' | 'text'> | undefined,
  logger: Logger,
): Promise<RunningProcesses> {
  const supervisor = new Supervisor(config, configuration, logger);
  await supervisor.start();
  return supervisor;
}

/** The place of a process, which several may have one after the other. */
interface Slot {
  readonly number: number;
  running: SupervisedProcess | undefined;
  /** How often its process has ended lately. */
  ends: number;
  restart: NodeJS.Timeout | undefined;
}

class Supervisor implements ProcessOverview, RunningProcesses {
  readonly #config: ServeConfig;
  readonly #configuration: ProcessStart['configuration'];
  readonly #logger: Logger;
  readonly #slots: readonly Slot[];
  #shared: SharedState | undefined;
  #listensAt: ListensAt = { origin: '' };
  /** What processes are told to listen on. */
  #port: number;
  #phase: 'starting' | 'serving' | 'ending' = 'starting';

  constructor(
    config: ServeConfig,
    configuration: Pick<ConfigurationSource, 'path' | 'text'> | undefined,
    logger: Logger,
  ) {
    this.#config = config;
    this.#configuration =
      configuration === undefined ? null : { path: configuration.path, text: configuration.text };
    this.#logger = logger;
    this.#port = config.securePort;
    this.#slots = Array.from({ length: config.processes.count }, (_, index) => ({
      number: index + 1,
      running: undefined,
      ends: 0,
      restart: undefined,
    }));
  }

  get origin(): string {
    return this.#listensAt.origin;
  }

  get adminOrigin(): string | undefined {
    return this.#listensAt.adminOrigin;
  }

  async start(): Promise<void> {
    const shared = await SharedState.open(this.#config, this, this.#logger);
    this.#shared = shared;
    // In turn: clients keep their connections for hours, and the kernel's own spread is by hash (docs/decisions/0014).
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // A second signal ends this process at once, and has to end the others with it.
    process.once('exit', () => this.#kill());
    try {
      const [first] = await Promise.all(this.#slots.map((slot) => this.#run(slot, shared).ready));
      if (first !== undefined) this.#listensAt = first;
      this.#phase = 'serving';
      // One that has served and ended before the others served.
      for (const slot of this.#slots) if (slot.running === undefined) this.#run(slot, shared);
    } catch (error) {
      this.#phase = 'ending';
      this.#kill();
      await this.#allEnded();
      await shared.close();
      throw error;
    }
  }

  async reload(): Promise<void> {
    await Promise.all([
      this.#shared?.reopen(),
      ...this.#running().map((each) =>
        each.reload().catch((error: unknown) => {
          this.#logger.error(
            { otherProcess: each.number, err: error },
            'A process has not said that it read its files again',
          );
        }),
      ),
    ]);
  }

  async shutdown(): Promise<void> {
    this.#phase = 'ending';
    for (const slot of this.#slots) clearTimeout(slot.restart);
    await Promise.all(this.#running().map((each) => each.shutDown()));
    // Each bounds its own end, by its flags; who supervises this process bounds all of it.
    await this.#allEnded();
    await this.#shared?.close();
  }

  startOf({ number }: SupervisedProcess): ProcessStart {
    return { number, of: this.#slots.length, port: this.#port, configuration: this.#configuration };
  }

  others(asking: SupervisedProcess): readonly SupervisedProcess[] {
    return this.#running().filter((each) => each !== asking && each.hasJoined);
  }

  starting(): number {
    return this.#slots.filter(({ running }) => running?.isReady !== true).length;
  }

  #run(slot: Slot, shared: SharedState): SupervisedProcess {
    const { number } = slot;
    const running = new SupervisedProcess({
      number,
      answer: (asking, question) => shared.answer(asking, question),
      onFault: (fault) => {
        this.#logger.error({ otherProcess: number, fault }, 'A process has sent what cannot be understood');
      },
    });
    slot.running = running;
    slot.restart = undefined;
    const { pid } = running;
    running.ready.then(
      () => this.#logger.info({ otherProcess: number, otherPid: pid }, 'A process serves'),
      // Told of with its end.
      () => {},
    );
    void running.ended.then((end) => this.#ended(slot, running, end, shared));
    return running;
  }

  #ended(slot: Slot, ended: SupervisedProcess, end: ProcessEnd, shared: SharedState): void {
    slot.running = undefined;
    const isRestarted = this.#phase === 'serving';
    shared.processEnded(ended, isRestarted);
    if (!isRestarted) return;
    // Nobody holds a port that the system chose any more: who comes next has to ask for that one.
    if (this.#running().length === 0) this.#port = Number(new URL(this.origin).port);
    if (performance.now() - ended.startedAt >= steadyAfter) slot.ends = 0;
    const milliseconds = this.#runLater(slot, shared);
    this.#logger.error(
      {
        otherProcess: slot.number,
        otherPid: ended.pid,
        exitCode: end.exitCode,
        signal: end.signal,
        ...(end.reason === undefined ? {} : { reason: end.reason }),
        milliseconds,
      },
      'A process has ended; it is started again',
    );
  }

  /** @returns in how many milliseconds */
  #runLater(slot: Slot, shared: SharedState): number {
    slot.ends += 1;
    const delay = restartDelay(slot.ends, Math.random());
    slot.restart = setTimeout(() => {
      try {
        this.#run(slot, shared);
      } catch (error) {
        // No more files or processes are to be had: the others serve on meanwhile.
        const milliseconds = this.#runLater(slot, shared);
        this.#logger.error(
          { otherProcess: slot.number, err: error, milliseconds },
          'A process cannot be started; it is tried again',
        );
      }
    }, delay);
    return delay;
  }

  #running(): readonly SupervisedProcess[] {
    return this.#slots.flatMap(({ running }) => running ?? []);
  }

  async #allEnded(): Promise<void> {
    await Promise.all(this.#running().map(({ ended }) => ended));
  }

  #kill(): void {
    for (const each of this.#running()) each.kill();
  }
}
