import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestGate } from '../../proxy/in-flight/request-gate.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ShutdownConfig } from '../configuration/serve-config.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import type { RouterServer } from './server.ts';

export interface GracefulShutdownOptions {
  readonly config: ShutdownConfig;
  /** Milliseconds that requests in flight have to end: `--request-timeout`. */
  readonly requestTimeout: number;
  readonly server: Pick<RouterServer, 'drain' | 'close'>;
  readonly gate: RequestGate;
  readonly openStreams: OpenStreams;
  readonly logger: Logger;
}

/** Milliseconds between two looks whether anything is left. */
const lookInterval = 50;
/** Of the grace period of watches; in the rest, those that were in the middle of an event come to its end. */
const spread = 0.8;

/**
 * Ends a router so that no client notices: not ready, then nothing new, then what is under way, short requests by
 * themselves and watches by and by.
 */
export class GracefulShutdown {
  readonly #options: GracefulShutdownOptions;
  #running: Promise<void> | undefined;

  constructor(options: GracefulShutdownOptions) {
    this.#options = options;
  }

  /** What `/readyz` asks. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when every connection is closed. Called again, it is the same shutdown. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { config, requestTimeout, server, gate, openStreams, logger } = this.#options;
    const { delay, sendRetryAfter, watchTerminationGracePeriod: watchGrace } = config;
    if (delay > 0) {
      logger.info(
        { milliseconds: delay },
        'Not ready any more; serving on until load balancers have noticed',
      );
      await sleep(delay);
    }
    const { inFlight } = gate;
    const requests = inFlight.count('readOnly') + inFlight.count('mutating');
    logger.info({ requests, streams: openStreams.size }, 'Draining');
    if (sendRetryAfter) gate.refuseNewRequests();
    server.drain(sendRetryAfter);
    openStreams.end({ over: watchGrace * spread });
    const cut = setTimeout(() => openStreams.cut(), watchGrace);
    const deadline = performance.now() + Math.max(requestTimeout, watchGrace);
    if (sendRetryAfter) await this.#untilNothingIsLeft(deadline);
    await server.close(Math.max(0, deadline - performance.now()));
    clearTimeout(cut);
    openStreams.cut();
  }

  async #untilNothingIsLeft(deadline: number): Promise<void> {
    const { inFlight } = this.#options.gate;
    const isAnythingLeft = (): boolean =>
      inFlight.count('readOnly') + inFlight.count('mutating') + inFlight.count('longRunning') > 0;
    while (isAnythingLeft() && performance.now() < deadline) await sleep(lookInterval);
  }
}
