import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestGate } from '../../proxy/in-flight/request-gate.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ShutdownConfig } from '../configuration/serve-config.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import type { RouterServer } from './server.ts';

export interface GracefulShutdownOptions {
  readonly config: ShutdownConfig;
  /** Milliseconds for requests in flight: `--request-timeout`. */
  readonly requestTimeout: number;
  readonly server: Pick<RouterServer, 'drain' | 'close'>;
  readonly gate: RequestGate;
  readonly openStreams: OpenStreams;
  readonly logger: Logger;
}

/** Milliseconds between two checks for requests in flight. */
const checkInterval = 50;
/** Share of the grace period in which watches are ended. The rest is for those in the middle of an event. */
const spread = 0.8;

/**
 * Shuts a router down without disturbing clients: first /readyz fails, then no new requests are accepted, then short
 * requests end by themselves and watches one after the other.
 */
export class GracefulShutdown {
  readonly #options: GracefulShutdownOptions;
  #running: Promise<void> | undefined;

  constructor(options: GracefulShutdownOptions) {
    this.#options = options;
  }

  /** Used by `/readyz`. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when all connections are closed. Further calls return the same promise. */
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
        'Not ready any more: still serving until load balancers have noticed',
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
    if (sendRetryAfter) await this.#waitForRequests(deadline);
    await server.close(Math.max(0, deadline - performance.now()));
    clearTimeout(cut);
    openStreams.cut();
  }

  async #waitForRequests(deadline: number): Promise<void> {
    const { inFlight } = this.#options.gate;
    const hasRequests = (): boolean =>
      inFlight.count('readOnly') + inFlight.count('mutating') + inFlight.count('longRunning') > 0;
    while (hasRequests() && performance.now() < deadline) await sleep(checkInterval);
  }
}
