import { countedVersionOf, mayBeOneVersion } from '../../apimachinery/server-version.ts';
import { backOffDelay, type Clock } from '../../runtime/time.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import { versionPartsOf } from '../documents/counted-version.ts';
import { createFeatureGateReader } from '../documents/feature-gates.ts';
import { readServer } from '../documents/read-server.ts';
import { ReadError, unexpectedStatus, withReadTimeout } from '../documents/server-documents.ts';
import { StorageVersionHashReader } from '../documents/storage-versions.ts';
import {
  type FailedReading,
  failedReading,
  lastKnown,
  type ServerReading,
  type SuccessfulReading,
  type SyncObserver,
} from '../documents/sync-server.ts';
import type { SyncTiming } from '../documents/timing.ts';
import {
  isAwaited,
  isAway,
  next,
  type ReadableServer,
  type ReaderEvent,
  type ReaderRecord,
  untriedRecord,
} from './reader-record.ts';

export interface ServerReadersOptions {
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly observer?: Pick<SyncObserver, 'serverRead'> | undefined;
  /** The snapshot of an earlier run: what it served, and documents that have not changed since. */
  readonly previous?: Snapshot | undefined;
}

interface ServerReaderOptions extends ServerReadersOptions {
  /** Lets so many reads run at once. */
  readonly limit: <Result>(task: () => Promise<Result>) => Promise<Result>;
  /** Called when a server that was away has said something. */
  readonly onNews: () => void;
}

/** For the answer to `/readyz`, milliseconds: a server that is starting accepts connections long before it responds on them. */
const readinessTimeout = 1_000;

/** Reads one server, again and again, and holds the record of it. */
export class ServerReader {
  readonly #options: ServerReaderOptions;
  readonly #hashes: StorageVersionHashReader;
  #gates = createFeatureGateReader();
  #record: ReaderRecord;
  #underWay: Promise<void> | undefined;
  /** Ends what is asked of a process that another one has replaced. */
  #drop = new AbortController();

  /** @param before of the server that was at its address, under another ID */
  constructor(server: ReadableServer, before: ReaderRecord | undefined, options: ServerReaderOptions) {
    const known = lastKnown(options.previous, server.id);
    this.#options = options;
    this.#record = untriedRecord(server, before);
    this.#hashes = new StorageVersionHashReader(options.clock, known, options.timing);
  }

  get record(): ReaderRecord {
    return this.#record;
  }

  /** The read that is under way; `undefined`: none is. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay;
  }

  /** A server with another address, or another process, is due at once; a read of its predecessor is cancelled. */
  follow(server: ReadableServer): void {
    if (!isOtherProcess(this.#record.server, server)) {
      this.#apply({ kind: 'described', server });
      return;
    }
    // The versions that it stored at stay known until those of the new process have been read.
    this.#hashes.outdate();
    this.#gates = createFeatureGateReader();
    this.#apply({ kind: 'replaced', server });
    this.renewConnections();
  }

  /** A reading that is under way may hang on a host that was down when it began: it ends, and the server is due at once. */
  renewConnections(): void {
    this.drop();
    this.#drop = new AbortController();
    this.#record.server.documents.renewConnections?.();
  }

  /** Cancels what is asked of it. */
  drop(): void {
    this.#drop.abort();
    this.#underWay = undefined;
  }

  isDue(): boolean {
    return this.#underWay === undefined && this.#options.clock.monotonic() >= this.#record.dueAt;
  }

  /** @param end cancels it */
  begin(end: AbortSignal): Promise<void> {
    const reading: Promise<void> = this.#read(AbortSignal.any([end, this.#drop.signal])).finally(() => {
      if (this.#underWay === reading) this.#underWay = undefined;
    });
    this.#underWay = reading;
    return reading;
  }

  #apply(event: ReaderEvent): void {
    this.#record = next(this.#record, event, this.#options.clock.monotonic());
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock, limit, observer, onNews } = this.#options;
    const [event, seconds] = await limit(async () => {
      const begunAt = clock.monotonic();
      return [await this.#ask(signal), (clock.monotonic() - begunAt) / 1000] as const;
    });
    // A cancelled read says nothing about the server.
    if (signal.aborted) return;
    const before = this.#record;
    this.#apply(event);
    if (event.kind === 'not ready') {
      if (event.reading === stillStarting && before.early === undefined) void this.#readEarly(signal);
      return;
    }
    observer?.serverRead({ seconds, result: event.kind === 'read' ? 'success' : 'failure' });
    if (event.kind === 'read') {
      if (isAway(before)) onNews();
      return;
    }
    // A server may come back as another process.
    this.#hashes.outdate();
    if (before.failures === 0) this.#gates.outdate();
  }

  /**
   * Asks what a server serves; first, whether it is ready, of one that was away, or has not been read yet. Whoever says
   * something else than before has been started in between, unnoticed. All of them count from when they are ready.
   */
  async #ask(signal: AbortSignal): Promise<ReaderEvent & { kind: 'not ready' | 'read' | 'not read' }> {
    const { clock, timing } = this.#options;
    const askedAt = clock.monotonic();
    const isAsked = isAwaited(this.#record, askedAt) || this.#record.reading === undefined;
    const unready = isAsked ? await this.#unreadiness(signal) : undefined;
    const wasAway = isAway(this.#record);
    if (unready !== undefined && (unready === stillStarting || wasAway)) {
      return { kind: 'not ready', askedAt, reading: unready };
    }
    // A cancelled question says nothing about the process that is there now.
    if (isAsked && !signal.aborted) this.#apply({ kind: 'became ready' });
    const reading = await this.#readDocuments(signal);
    // Of a server that is not asked any more only its documents say that it is there.
    if (!isAsked && reading.ok && !signal.aborted) this.#apply({ kind: 'became ready' });
    if (!reading.ok) {
      const failures = this.#record.failures + 1;
      const dueAt = clock.monotonic() + backOffDelay(timing.readBackOff, failures, clock.random());
      return { kind: 'not read', reading, dueAt };
    }
    const isOther = !wasAway && (await this.#isOfAnotherProcess(reading));
    if (!isOther || signal.aborted) return { kind: 'read', askedAt, reading };
    this.#apply({ kind: 'restarted unnoticed', reading });
    this.#gates.outdate();
    return this.#ask(signal);
  }

  /**
   * A server that has just started serves a part of what it will: discovery lacks what its controllers have not put there
   * yet, and `/readyz` says when they have. Before it knows of any role it forbids everything. Where `/readyz` is forbidden
   * for good, nobody is left out for longer than the record says (`endsAt`).
   *
   * @returns why it does not count yet; `undefined`: it is ready
   */
  async #unreadiness(signal: AbortSignal): Promise<FailedReading | undefined> {
    const { documents } = this.#record.server;
    try {
      const document = await withReadTimeout(readinessTimeout, signal, (deadline) =>
        documents.get('/readyz', '*/*', deadline),
      );
      const { status } = document;
      if (status >= 500) return stillStarting;
      if (status !== 401 && status !== 403) return undefined;
      return failedReading(new ReadError('UnexpectedStatus', unexpectedStatus('/readyz', document)));
    } catch (error) {
      return failedReading(error);
    }
  }

  #readDocuments(signal: AbortSignal): Promise<ServerReading> {
    return readServer(this.#record.server.documents, {
      signal,
      timing: this.#options.timing,
      hashReader: this.#hashes,
      gateReader: this.#gates,
    });
  }

  /**
   * Reads a server that is not ready yet. What it says does not count, but most of it is what it will say: the versions that
   * it stores at are known then, and its schemas are read, which takes seconds of a machine that has just started it.
   */
  async #readEarly(signal: AbortSignal): Promise<void> {
    const early = {};
    this.#apply({ kind: 'reading early', early });
    const reading = await this.#readDocuments(signal);
    if (this.#record.early !== early) return;
    const isRead = reading.ok && !signal.aborted;
    this.#apply({ kind: 'read early', reading: isRead ? reading : undefined });
    if (isRead) this.#options.onNews();
  }

  /** True if this reading and the last one are of two processes: of other versions, or started otherwise. */
  async #isOfAnotherProcess(reading: SuccessfulReading): Promise<boolean> {
    const before = this.#record.reading;
    if (before?.ok !== true) return false;
    return !mayBeOneVersion(await versionSaid(before), await versionSaid(reading));
  }
}

const nothingShared: ReadonlySet<string> = new Set();

const versionSaid = async (reading: SuccessfulReading) =>
  countedVersionOf(await versionPartsOf(reading, nothingShared));

const stillStarting: FailedReading = {
  ok: false,
  code: 'NothingServed',
  reason: 'its /readyz does not say that it is ready: it is still starting',
};

function isOtherProcess(before: ReadableServer, after: ReadableServer): boolean {
  if (before.documents !== after.documents) return true;
  // A Lease that appears or disappears is no restart.
  const [holder, next] = [before.holderIdentity, after.holderIdentity];
  return holder !== undefined && next !== undefined && holder !== next;
}
