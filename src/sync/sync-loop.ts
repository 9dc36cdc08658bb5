import type { Snapshot } from '../snapshot/types.ts';
import { createPublication } from './publication.ts';
import { type RoundOutcome, runRound } from './round.ts';
import { createRoundContext } from './round-context.ts';
import type { SyncOptions } from './sync-options.ts';
import { createTargetDelivery, type TargetStatus } from './target-delivery.ts';

export interface SyncStatus {
  /** Generation that is being delivered; `undefined` while nothing is known of any server. */
  readonly generation: number | undefined;
  /** End of the last round, milliseconds since the epoch; `undefined` before the first. */
  readonly lastRoundAt: number | undefined;
  /** Every server, and why it could not be read, if it could not. */
  readonly servers: readonly { readonly id: string; readonly failure: string | undefined }[];
  /** What the last round had to do without. */
  readonly warnings: readonly string[];
  readonly targets: readonly TargetStatus[];
}

/** Reads the servers and delivers snapshots until it is told to stop. */
export interface SyncLoop {
  /** Resolves when `signal` aborts; never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  status(): SyncStatus;
}

/** @throws {TypeError} when the options contradict themselves. */
export function createSyncLoop(given: SyncOptions): SyncLoop {
  const context = createRoundContext(given);
  const { clock, logger, timing, ...options } = context.options;
  let known: Snapshot | undefined = options.previous;
  let published = false;
  let last: { readonly endedAt: number; readonly outcome: RoundOutcome } | undefined;
  let lastWarnings: readonly string[] = [];

  const targets = options.targets.map((target) =>
    createTargetDelivery(target, {
      clock,
      logger,
      backOff: timing.deliveryBackOff,
      confirmMilliseconds: timing.confirm,
      onNewerHeld: (generation) => publication.newerHeld(generation),
    }),
  );
  const publication = createPublication({
    clock,
    signingKey: options.signingKey,
    overtakeBackOff: timing.deliveryBackOff,
    offer: (delivery) => {
      for (const target of targets) target.offer(delivery);
    },
  });

  async function round(signal: AbortSignal): Promise<void> {
    const outcome = await runRound(context, known, publication.heldGeneration(), timing.patience, signal);
    if (signal.aborted) return;
    last = { endedAt: clock.now(), outcome };
    logNewWarnings(outcome.warnings);
    // What an earlier run left is delivered too: a router may have come since.
    if (outcome.snapshot !== undefined && (outcome.changed || !published)) {
      await publication.publish(outcome.snapshot);
      published = true;
    }
    known = (await publication.keepInForce()) ?? known;
  }

  /** Said when they come up, not in every round. */
  function logNewWarnings(warnings: readonly string[]): void {
    for (const warning of warnings) if (!lastWarnings.includes(warning)) logger.warn({}, warning);
    if (warnings.length === 0 && lastWarnings.length > 0) logger.info({}, 'everything can be read again');
    lastWarnings = warnings;
  }

  async function rounds(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await round(signal);
      } catch (error) {
        // The last snapshot stays in force; the next round tries again.
        logger.error({ err: error }, 'a round failed');
      }
      // Sync jobs that were started together do not ask together.
      await clock.sleep(timing.interval * (0.9 + 0.2 * clock.random()), signal);
    }
  }

  return {
    async run(signal) {
      await Promise.all([rounds(signal), ...targets.map((target) => target.run(signal))]);
    },
    status: () => ({
      generation: published ? known?.metadata.generation : undefined,
      lastRoundAt: last?.endedAt,
      servers: options.servers.map(({ id }) => ({ id, failure: failureOf(last?.outcome, id) })),
      warnings: last?.outcome.warnings ?? [],
      targets: targets.map((target) => target.status()),
    }),
  };
}

function failureOf(outcome: RoundOutcome | undefined, id: string): string | undefined {
  const reading = outcome?.readings.get(id);
  if (reading === undefined) return 'not read yet';
  return reading.ok ? undefined : reading.reason;
}
