import { type Logger, silentLogger } from '../runtime/logger.ts';
import { type Clock, systemClock, waitAtMost } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { RefusedAddress } from '../snapshot/receiving/refused-addresses.ts';
import { Publication, TargetDelivery, type TargetStatus } from './deliver.ts';
import type { ReaderStateName } from './documents/sync-server.ts';
import type { SyncTiming } from './documents/timing.ts';
import { type ReaderRecord, stateOf } from './reading/reader-record.ts';
import { ClusterReader, type RoundOutcome, timingOf } from './round.ts';
import type { SyncParts } from './sync-parts.ts';

export interface ServerStatus {
  readonly id: string;
  readonly state: ReaderStateName;
  /** Why it cannot be read; `undefined`: it was. */
  readonly failure: string | undefined;
}

export interface SyncStatus {
  /** Generation that is being delivered; `undefined` if no server is known. */
  readonly generation: number | undefined;
  /** End of the last round, milliseconds since the epoch; `undefined` before the first. */
  readonly lastRoundAt: number | undefined;
  readonly lastReadAt: number | undefined;
  readonly servers: readonly ServerStatus[];
  readonly warnings: readonly string[];
  /** Addresses that the cluster names and nobody calls. */
  readonly refusedAddresses: readonly RefusedAddress[];
  readonly targets: readonly TargetStatus[];
}

/** How long a round waits until its snapshot has been delivered, milliseconds. */
const longestDelivery = 200;
/** Changes in the cluster for each of which all servers are read; after that, two a second are. */
const changesReadAtOnce = 4;

/** Reads a cluster round after round, and delivers what has changed. */
export class SyncLoop {
  readonly #parts: SyncParts;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timing: SyncTiming;
  readonly #reader: ClusterReader;
  readonly #targets: readonly TargetDelivery[];
  readonly #publication: Publication;
  readonly #allowance: ReadingAllowance;
  /** Resolves when every target has been tried with the last snapshot. */
  #attempted: Promise<unknown> = Promise.resolve();
  /** Aborts when the next round must start at once. */
  #wake = new AbortController();
  /** A change is waited out: others come with it. */
  #isChanging = false;
  #last: { readonly endedAt: number; readonly outcome: RoundOutcome } | undefined;
  #lastReadAt: number | undefined;

  constructor(parts: SyncParts) {
    const { clock = systemClock, logger = silentLogger, observer, signingKey } = parts;
    const timing = timingOf(parts);
    this.#parts = parts;
    this.#clock = clock;
    this.#logger = logger;
    this.#timing = timing;
    this.#reader = new ClusterReader(parts);
    this.#allowance = new ReadingAllowance(clock, timing.interval / 2);
    this.#targets = parts.targets.map((target) => {
      const onNewerHeld = (generation: number) => this.#publication.newerHeld(generation);
      return new TargetDelivery(target, { clock, logger, timing, observer, onNewerHeld });
    });
    this.#publication = new Publication({
      clock,
      signingKey,
      timing,
      offer: (delivery) => {
        this.#attempted = Promise.all(this.#targets.map((target) => target.offer(delivery)));
      },
    });
  }

  /** Resolves when `signal` aborts; never rejects. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    const { advertised, clusterSource } = this.#parts;
    const onChange = () => void this.#onClusterChange(signal);
    advertised?.onChange(onChange);
    await Promise.all([
      clusterSource.run(signal, onChange),
      this.#rounds(signal),
      ...this.#targets.map((target) => target.run(signal)),
    ]);
  }

  /** A server says of itself what was not read: it is read at once, over a new connection. So are the others, over theirs. */
  hurry(id: string): void {
    this.#reader.readers.renewConnections(id);
    this.#wakeUp();
  }

  status(): SyncStatus {
    const { endedAt, outcome } = this.#last ?? {};
    const now = this.#clock.monotonic();
    const records = [...(outcome?.records.values() ?? [])];
    const untried = this.#parts.clusterSource.listed.map(
      ({ id }): ServerStatus => ({ id, state: 'untried', failure: failureOf(undefined) }),
    );
    return {
      generation: this.#publication.snapshot()?.metadata.generation,
      lastRoundAt: endedAt,
      lastReadAt: this.#lastReadAt,
      servers: outcome
        ? records.map((record) => ({
            id: record.server.id,
            state: stateOf(record, now),
            failure: failureOf(record),
          }))
        : untried,
      warnings: outcome?.warnings ?? [],
      refusedAddresses: outcome?.refused ?? [],
      targets: this.#targets.map((target) => target.status()),
    };
  }

  #known(): Snapshot | undefined {
    return this.#publication.snapshot() ?? this.#parts.previous;
  }

  async #rounds(signal: AbortSignal): Promise<void> {
    const { clusterSource } = this.#parts;
    // A first snapshot without servers that are found a moment later would remove their routes.
    await waitAtMost(clusterSource.ready(signal), this.#timing.longestWait, this.#clock, signal);
    let reads = true;
    let isOwed = false;
    while (!signal.aborted) {
      const woken = this.#wake.signal;
      if (reads) isOwed = false;
      await this.#publishRound(reads, signal);
      reads = await this.#rest(isOwed, woken, signal);
      if (!reads || !woken.aborted) continue;
      reads = this.#allowance.take();
      isOwed = !reads;
    }
  }

  /** A round, whose snapshot is then published, or renewed. Never rejects. */
  async #publishRound(reads: boolean, signal: AbortSignal): Promise<void> {
    let isInForce = false;
    try {
      isInForce = await this.#round(reads, signal);
    } catch (error) {
      this.#logger.error({ err: error }, 'A round failed');
    }
    // The age of a snapshot says when it was last what the cluster serves: a round that could read no server, or could not
    // publish what it has read, renews nothing.
    await this.#publication.keepInForce(isInForce).catch((error: unknown) => {
      this.#logger.error({ err: error }, 'The snapshot could not be renewed');
    });
  }

  /**
   * @param reads whether servers are to be read; else what they have said since the last round counts
   * @returns true: what is published is what the cluster serves now
   */
  async #round(reads: boolean, signal: AbortSignal): Promise<boolean> {
    const previous = this.#known();
    // The very first snapshot waits for the slowest server: resources that only that server serves would be 404.
    const longestWait = previous === undefined ? undefined : reads ? this.#timing.longestWait : 0;
    // Nor does any wait for schemas: that a server has another version counts at once.
    const outcome = await this.#reader.round({ previous, longestWait, waitsForSchemas: false }, signal);
    if (signal.aborted) return false;
    logChanges(this.#logger, this.#last?.outcome, outcome);
    this.#last = { endedAt: this.#clock.now(), outcome };
    const isRead = [...outcome.records.values()].some(({ reading }) => reading?.ok);
    if (isRead) this.#lastReadAt = this.#last.endedAt;
    // The snapshot of an earlier run is delivered too: a router may have started since.
    if (outcome.snapshot !== undefined && (outcome.changed || this.#publication.snapshot() === undefined)) {
      await this.#publication.publish(outcome.snapshot);
      // In use before more is read: a server that starts changes dozens of objects, and their rounds would be in its way.
      await waitAtMost(this.#attempted, longestDelivery, this.#clock, signal);
    }
    return isRead && outcome.isInvalid !== true;
  }

  /**
   * Until the next round.
   *
   * @param isOwed a change was not read for at once
   * @param woken aborts when a change is to be read for
   * @returns false: a server has said something, or more schemas are known; nothing else is to be read
   */
  async #rest(isOwed: boolean, woken: AbortSignal, signal: AbortSignal): Promise<boolean> {
    const { readers } = this.#reader;
    const moreSchemas = this.#last?.outcome.moreSchemas;
    // With jitter, sync jobs that started together do not send their requests together.
    const owedIn = isOwed ? this.#timing.interval / 2 : Number.POSITIVE_INFINITY;
    const wanted = Math.min(this.#pause() * (0.9 + 0.2 * this.#clock.random()), owedIn);
    const resting = new AbortController();
    const heard = [
      ...(moreSchemas === undefined ? [] : [moreSchemas]),
      ...(readers.expectsNews() ? [readers.untilNews(resting.signal, signal)] : []),
    ].map((each) => each.then(() => false));
    const rest = this.#clock.sleep(wanted, AbortSignal.any([signal, woken])).then(() => true);
    // A server that is back is read already, and the others were a moment ago.
    const reads = await Promise.race([rest, ...heard]);
    resting.abort();
    return reads;
  }

  /** @returns milliseconds */
  #pause(): number {
    const { interval, restInterval = interval } = this.#timing;
    const outcome = this.#last?.outcome;
    const isCalm =
      outcome?.changed === false &&
      outcome.moreSchemas === undefined &&
      !outcome.awaitsHosts &&
      [...outcome.records.values()].every(
        (record) => record.server.departedAt !== undefined || failureOf(record) === undefined,
      );
    return isCalm ? restInterval : interval;
  }

  #wakeUp(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  async #onClusterChange(signal: AbortSignal): Promise<void> {
    if (this.#isChanging) return;
    this.#isChanging = true;
    const { settle, interval } = this.#timing;
    await this.#clock.sleep(this.#allowance.hasOne() ? settle : interval / 4, signal);
    this.#isChanging = false;
    this.#wakeUp();
  }
}

/**
 * Readings of all servers that changes may ask for at once. A server that starts changes dozens of objects one after the
 * other: the first few are read for at once, as a new definition is, and the others together.
 */
class ReadingAllowance {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds in which one more is allowed. */
  readonly #refill: number;
  #left = changesReadAtOnce;
  #countedAt: number;

  constructor(clock: Pick<Clock, 'monotonic'>, refill: number) {
    this.#clock = clock;
    this.#refill = refill;
    this.#countedAt = clock.monotonic();
  }

  hasOne(): boolean {
    const now = this.#clock.monotonic();
    this.#left = Math.min(changesReadAtOnce, this.#left + (now - this.#countedAt) / this.#refill);
    this.#countedAt = now;
    return this.#left >= 1;
  }

  /** @returns false: there is none left */
  take(): boolean {
    const isAllowed = this.hasOne();
    if (isAllowed) this.#left--;
    return isAllowed;
  }
}

/** @returns why a server is not read; `undefined`: it is */
function failureOf(record: ReaderRecord | undefined): string | undefined {
  if (record?.reading === undefined) return 'not read yet';
  return record.reading.ok ? undefined : record.reading.reason;
}

function logChanges(logger: Logger, before: RoundOutcome | undefined, after: RoundOutcome): void {
  const servers = idsOf(after);
  if (servers.join() !== idsOf(before).join()) logger.info({ servers }, 'API servers');
  const known = before?.warnings ?? [];
  for (const warning of after.warnings)
    if (!known.includes(warning)) logger.warn({ warning }, 'A round ended with a warning');
  if (after.warnings.length === 0 && known.length > 0) logger.info({}, 'Everything can be read again');
}

function idsOf(outcome: RoundOutcome | undefined): readonly string[] {
  return [...(outcome?.records.keys() ?? [])].sort();
}
