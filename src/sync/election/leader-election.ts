import { canonicalJson } from '../../runtime/canonical-json.ts';
import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';

/** Milliseconds. The defaults are those of kube-controller-manager (component-base config/v1alpha1/defaults.go). */
export interface LeaderElectionTiming {
  /** How long a Lease without a renewal belongs to its holder. Default 15,000. */
  readonly leaseDuration: number;
  /** A leader that cannot renew for this long stops leading, before another one starts. Default 10,000. */
  readonly renewDeadline: number;
  /** Between attempts to take or renew the Lease. Default 2,000. */
  readonly retryPeriod: number;
}

/**
 * The defaults' proportions for another lease duration. @param leaseDuration milliseconds
 *
 * @example
 * ```ts
 * const { renewDeadline } = leaderElectionTiming(30_000);
 * console.log(renewDeadline); // 20000
 * ```
 */
export function leaderElectionTiming(leaseDuration: number): LeaderElectionTiming {
  return {
    leaseDuration,
    renewDeadline: Math.round((leaseDuration * 2) / 3),
    retryPeriod: Math.round((leaseDuration * 2) / 15),
  };
}

export const defaultLeaderElectionTiming = leaderElectionTiming(15_000);

/** Whether this sync job delivers. */
export interface Leadership {
  isLeader(): boolean;
  /** Calls `listener` when a term begins or ends. @returns a function that stops it */
  onChange(listener: (isLeader: boolean) => void): () => void;
}

/** For a sync job that runs alone. */
export const soleLeader: Leadership = { isLeader: () => true, onChange: () => () => {} };

export interface LeaderElectionOptions {
  /** Unique for each sync job, also for two runs on one host. */
  readonly identity: string;
  readonly lease: LeaseClient;
  readonly clock: Clock;
  readonly timing?: LeaderElectionTiming | undefined;
  readonly logger?: Logger | undefined;
}

export interface LeaderElector extends Leadership {
  /** Competes for the Lease until `signal` aborts, then releases it. Never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /** Identity of the holder as last read; `undefined` if there is none, or before the first read. */
  holder(): string | undefined;
}

/**
 * Leader election by a Lease, with the rules of client-go (tools/leaderelection): a Lease is held for its duration from
 * the time when this process saw it change. The times in the Lease are never compared, so that clocks that differ, or
 * are set back, never make two leaders.
 *
 * @example
 * ```ts
 * const lease = httpLeaseClient({
 *   servers: [{ origin: apiServer.url }],
 *   certificateAuthorities,
 *   clientCertificate,
 *   namespace: 'kube-system',
 *   name: 'elected-sync-job',
 * });
 * const elector = createLeaderElector({ identity: 'sync-a', lease, clock: systemClock });
 * const stop = new AbortController();
 * const running = elector.run(stop.signal);
 *
 * stop.abort();
 * await running;
 * await lease.close();
 * ```
 */
export function createLeaderElector(options: LeaderElectionOptions): LeaderElector {
  const { identity, lease, clock, logger = silentLogger } = options;
  const timing = options.timing ?? defaultLeaderElectionTiming;
  const listeners = new Set<(isLeader: boolean) => void>();
  let observed: { readonly stored: StoredLease; readonly at: number } | undefined;
  /** Start of the last successful renewal, by the monotonic clock. `undefined`: not the leader. */
  let renewedAt: number | undefined;
  let lastFailure = '';

  /** By time too: a process that was suspended must not believe that it still leads. */
  const isLeader = () => renewedAt !== undefined && clock.monotonic() - renewedAt < timing.renewDeadline;

  function observe(stored: StoredLease): void {
    const before = observed;
    const isSame =
      before !== undefined && canonicalJson(before.stored.record) === canonicalJson(stored.record);
    observed = { stored, at: isSame ? before.at : clock.monotonic() };
  }

  function isHeldByOther({ record }: StoredLease, since: number): boolean {
    const { holderIdentity, leaseDurationSeconds } = record;
    if (holderIdentity === '' || holderIdentity === identity) return false;
    return clock.monotonic() - since < leaseDurationSeconds * 1000;
  }

  /** One attempt. @returns whether this sync job holds the Lease afterwards */
  async function tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const stored = await lease.get(signal);
    const now = microTime(clock.now());
    const mine: LeaseRecord = {
      holderIdentity: identity,
      // The field has whole seconds.
      leaseDurationSeconds: Math.ceil(timing.leaseDuration / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    };
    if (stored === undefined) {
      observe(await lease.create(mine, signal));
      return true;
    }
    observe(stored);
    if (isHeldByOther(stored, observed?.at ?? 0)) return false;
    const { record } = stored;
    const wasMine = record.holderIdentity === identity;
    observe(
      await lease.replace(
        stored,
        {
          ...mine,
          acquireTime: wasMine ? record.acquireTime : now,
          leaseTransitions: wasMine ? record.leaseTransitions : record.leaseTransitions + 1,
        },
        signal,
      ),
    );
    return true;
  }

  async function attempt(signal: AbortSignal): Promise<void> {
    const begun = clock.monotonic();
    const timeout = Math.max(1, timing.renewDeadline - (begun - (renewedAt ?? begun)));
    try {
      const timedOut = () => new Error(`no response within ${Math.round(timeout)} ms`);
      const mine = await withDeadline(timeout, signal, timedOut, tryAcquireOrRenew);
      if (signal.aborted) return;
      lastFailure = '';
      setRenewedAt(mine ? begun : undefined);
    } catch (error) {
      if (signal.aborted) return;
      const reason = errorMessage(error);
      // Logged once per reason, so that an API server that stays unreachable does not fill the log.
      if (reason !== lastFailure)
        logger.warn({ reason, identity }, 'The Lease could not be acquired or renewed');
      lastFailure = reason;
      // A leader that cannot renew in time stops, so that there is a gap before the next leader.
      if (!isLeader()) setRenewedAt(undefined);
    }
  }

  function setRenewedAt(at: number | undefined): void {
    const before = renewedAt !== undefined;
    renewedAt = at;
    if (before === (at !== undefined)) return;
    const holder = observed?.stored.record.holderIdentity;
    logger.info({ identity, holder }, at === undefined ? 'Stopped leading' : 'Started leading');
    for (const listener of listeners) listener(at !== undefined);
  }

  /** Lets the next leader start without waiting for the Lease to expire (client-go's ReleaseOnCancel). */
  async function release(): Promise<void> {
    const stored = observed?.stored;
    setRenewedAt(undefined);
    if (stored?.record.holderIdentity !== identity) return;
    const { leaseTransitions } = stored.record;
    const now = microTime(clock.now());
    const free = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    const ending = new AbortController().signal;
    const timedOut = () => new Error(`no response within ${timing.retryPeriod} ms`);
    await withDeadline(timing.retryPeriod, ending, timedOut, (signal) =>
      lease.replace(stored, { ...free, leaseTransitions }, signal),
    ).catch((error: unknown) =>
      logger.warn({ err: error }, 'The Lease could not be released; it will expire'),
    );
  }

  return {
    isLeader,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    holder: () => observed?.stored.record.holderIdentity || undefined,
    async run(signal) {
      while (!signal.aborted) {
        await attempt(signal);
        // client-go's JitterFactor: candidates that started together must not retry together.
        const jitter = renewedAt === undefined ? 1 + 0.2 * clock.random() : 1;
        await clock.sleep(timing.retryPeriod * jitter, signal);
      }
      await release();
    },
  };
}

/** The fields of a Lease that leader election uses (coordination.k8s.io/v1 LeaseSpec). */
export interface LeaseRecord {
  /** Empty: it has no holder. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds (`metav1.MicroTime`). */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaseTransitions: number;
}

/** A Lease as it was read. */
export interface StoredLease {
  readonly record: LeaseRecord;
  /** The object with its resourceVersion, so that only this version is replaced. */
  readonly object: unknown;
}

/** The Lease that sync jobs compete for. Every method rejects if the API server cannot be reached or refuses. */
export interface LeaseClient {
  /** `undefined`: it does not exist. */
  get(signal: AbortSignal): Promise<StoredLease | undefined>;
  /** Rejects if it exists. */
  create(record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
  /** Rejects if it was changed since (409 Conflict). */
  replace(stored: StoredLease, record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
}

/** A time as `metav1.MicroTime`. @param milliseconds since the epoch */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
