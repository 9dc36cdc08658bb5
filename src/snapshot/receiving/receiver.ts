import { defaultLogger } from '../../runtime/console-logger.ts';
import type { Logger } from '../../runtime/logger.ts';
import { parseRfc3339, systemClock, waitAtMost } from '../../runtime/time.ts';
import { IssueList } from '../../runtime/validation.ts';
import type { AddressPolicy } from '../addresses/address-policy.ts';
import { isGenerationAhead } from '../format/limits.ts';
import type { Snapshot } from '../format/schema.ts';
import { invalid, SnapshotError, type SnapshotErrorCode } from '../format/snapshot-error.ts';
import { buildRoutingTable, renewedTable } from '../routing-table/build-routing-table.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import { VersionInstants, type VersionInstantsOptions } from '../routing-table/version-instants.ts';
import type { PinnedKeySet } from '../signing/keys.ts';
import { openSnapshot, signerOf, verifySnapshot } from '../signing/open-sealed.ts';
import {
  type RefusedAddress,
  refusedAddressesBrief,
  refusedAddressText,
  withoutRefusedAddresses,
} from './refused-addresses.ts';
import { type SnapshotStore, StoreChangedError } from './snapshot-store.ts';
import { StoredCopy } from './stored-copy.ts';

export interface SnapshotReceiverOptions extends VersionInstantsOptions {
  /** Asked for each snapshot, so that a reloaded key file counts from then on. */
  readonly keys: () => PinnedKeySet;
  readonly addressPolicy: AddressPolicy;
  /** Default: none, and a restart finds nothing. */
  readonly store?: SnapshotStore | undefined;
  /** Several receivers share the store, so that a snapshot counts only once the store has it. Default false. */
  readonly isStoreShared?: boolean | undefined;
  /** Name of the cluster. Default: that of the snapshot in use. One of another name is refused. */
  readonly cluster?: string | undefined;
  /** Milliseconds since the epoch; default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Default: warnings and errors on the console. */
  readonly logger?: Logger | undefined;
  /** Told how each push has ended, for metrics. Must not throw. */
  readonly onPush?: ((result: PushResult) => void) | undefined;
}

export type PushResult = Acceptance['result'] | SnapshotErrorCode | 'InternalError';

/** A push that was refused since the last one that was taken. */
export interface RefusedPush {
  readonly code: SnapshotErrorCode;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Acceptance {
  /** `unchanged`: it was held already. */
  readonly result: 'accepted' | 'renewed' | 'unchanged';
  readonly generation: number;
  /** When what is held now was made or last renewed, milliseconds since the epoch. */
  readonly createdAt: number;
  /** False: in use, but not stored yet, so a restart now would not find it. */
  readonly persisted: boolean;
  readonly persistenceError?: string | undefined;
}

/** Everything that is held, replaced as a whole. */
export interface Held {
  readonly table: RoutingTable;
  /** Empty for what this router has read itself. */
  readonly digest: string;
  /** As it came, without what followed it; empty as `digest`. */
  readonly jws: string;
  /** ID of the key that it is signed with; `undefined` for what this router has read itself. */
  readonly kid: string | undefined;
  readonly refusedAddresses: readonly RefusedAddress[];
}

/** A snapshot that is in use by now. */
export interface Taken {
  readonly result: Acceptance['result'];
  readonly table: RoutingTable;
  /** Why it is not stored; `undefined`: it is. */
  readonly saved: Promise<string | undefined>;
}

export interface FromStore {
  readonly sealed: string;
  readonly checked?: Snapshot['servedSets'] | undefined;
}

/** Something to know of the snapshot in use that refuses nothing. */
export interface SnapshotConcern {
  /** For everybody: without a detail. */
  readonly brief: string;
  /** For those who may read the status, one a line. */
  readonly details: readonly string[];
}

export function isOlder(next: Held, held: Held | undefined): boolean {
  return held !== undefined && next.table.generation <= held.table.generation;
}

/** An old snapshot is validly signed for ever: only its number keeps it from being played back. */
export function requireRising(generation: number, held: Held | undefined): void {
  if (held === undefined || generation > held.table.generation) return;
  const rule =
    generation === held.table.generation
      ? 'is held with other content'
      : `is older than the one that is held, ${held.table.generation}`;
  throw new SnapshotError(
    'NotNewer',
    `Generation ${generation} ${rule}; a changed snapshot needs a higher one.`,
  );
}

/** A mistake on the side of the sync job: the routes of another cluster would replace those of this one. */
function requireSameCluster(cluster: string | undefined, expected: string | undefined): void {
  if (cluster === undefined || expected === undefined || cluster === expected) return;
  throw new SnapshotError(
    'OtherCluster',
    `The snapshot is of cluster ${cluster}, and this router is of ${expected}: compare --cluster of the sync job with that of the router.`,
  );
}

/** A number far above all others would shut out every later snapshot. */
function requirePlausible(generation: number, now: number): void {
  if (!isGenerationAhead(generation, now)) return;
  throw new SnapshotError(
    'GenerationAhead',
    `Generation ${generation} lies more than a day ahead of the clock here (${Math.floor(now / 1000)}): generations are made of seconds since the epoch.`,
  );
}

/** How far the maker's clock may be ahead of the receiver's: the leeway Kerberos made customary. */
const maximumClockSkewMilliseconds = 5 * 60 * 1000;
/** How long the response to a push waits for the store, milliseconds: a disk is rarely slower, unless it is ill. */
const longestStoreWait = 250;

function futureIssue(createdAt: string, now: number): string | undefined {
  const created = parseRfc3339(createdAt);
  if (created === undefined || created - now <= maximumClockSkewMilliseconds) return undefined;
  const seconds = Math.round((created - now) / 1000);
  return `lies ${seconds} seconds in the future; compare the clocks of both machines`;
}

/**
 * The one way in for snapshots. Pushes are taken one at a time; each is taken whole or changes nothing.
 *
 * A pushed snapshot is put in use in one assignment, and stored beside that: neither a slow store nor one that cannot be
 * written keeps the router on old routes, or the next snapshot waiting. The response says `persisted: false` then, and the
 * next push of it tries to write again.
 */
export class SnapshotReceiver {
  protected readonly options: SnapshotReceiverOptions;
  protected held: Held | undefined;
  protected readonly copy: StoredCopy<Held>;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #listeners = new Set<(table: RoutingTable) => void>();
  #refusedPush: RefusedPush | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** The keys that the held snapshot was verified with last. */
  #verifiedWith: PinnedKeySet | undefined;
  readonly #instants: VersionInstants;

  constructor(options: SnapshotReceiverOptions) {
    this.options = options;
    this.#now = options.now ?? Date.now;
    this.#logger = options.logger ?? defaultLogger;
    this.#instants = new VersionInstants(options);
    this.copy = new StoredCopy({
      store: options.store,
      textOf: (held) => this.textOf(held),
      logger: this.#logger,
    });
  }

  /** The table in use; `undefined` until there is one. It may be old (see `createdAt`). */
  current(): RoutingTable | undefined {
    return this.held?.table;
  }

  /** The last push, when it was refused: what an operator looks for while the snapshot grows old. */
  get refusedPush(): RefusedPush | undefined {
    return this.#refusedPush;
  }

  /** Addresses of the snapshot in use that the address policy refuses: nobody is called there. */
  get refusedAddresses(): readonly RefusedAddress[] {
    return this.held?.refusedAddresses ?? [];
  }

  /** Warnings of the receiver about the snapshot in use, for `/readyz?verbose` and the status. */
  concerns(): readonly SnapshotConcern[] {
    const { error } = this.copy;
    const kid = this.held?.kid;
    const concerns: SnapshotConcern[] = [];
    if (kid !== undefined && !this.options.keys().has(kid)) {
      const brief = 'the key that the snapshot is signed with is no longer pinned';
      const detail = `the snapshot in use is signed with key ${kid}, which is no longer pinned: it stays until one of a pinned key is pushed, of whatever generation`;
      concerns.push({ brief, details: [detail] });
    }
    if (error !== undefined) {
      const detail = `the snapshot in use could not be stored, and a restart would not find it: ${error}`;
      concerns.push({ brief: 'the snapshot could not be stored', details: [detail] });
    }
    if (this.refusedAddresses.length > 0) {
      const details = this.refusedAddresses.map(refusedAddressText);
      concerns.push({ brief: refusedAddressesBrief(details.length), details });
    }
    return concerns;
  }

  /** The snapshot in use, sealed as it came, to be handed on to another router. `undefined` also when it is not signed. */
  async sealed(): Promise<string | undefined> {
    return this.digest() === undefined || this.held === undefined ? undefined : sealedText(this.held);
  }

  /** `OpenedSnapshot.digest` of the snapshot in use; `undefined` when there is none, or it is not signed. */
  digest(): string | undefined {
    return this.held?.digest || undefined;
  }

  /**
   * Calls `listener` with every table that is put in use, those of renewals included (same `generation`, later
   * `createdAt`). @returns a function that ends it.
   */
  onChange(listener: (table: RoutingTable) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Takes a sealed snapshot if its signature and content hold, its cluster is this one and its generation rises. Sets that
   * are held may be left out of it, and others may be what differs from those. The held snapshot sent again is `unchanged`,
   * under any valid signature, and `renewed` if it was made later: one that is played back revives nothing. Other content
   * needs a higher generation.
   * @throws {SnapshotError} with the reason; nothing has changed then.
   */
  async accept(sealed: string): Promise<Acceptance> {
    const taken = await this.takeInTurn(async () => {
      const { snapshot, ...signed } = await this.#open(sealed);
      const held = this.held;
      if (held?.digest !== signed.digest) {
        await this.#requireNext(snapshot);
        return this.put('accepted', { ...signed, table: this.tableOf(snapshot) });
      }
      const table = renewedTable(held.table, snapshot.metadata.createdAt);
      if (table.createdAt > held.table.createdAt) return this.put('renewed', { ...signed, table });
      const isAlike = table.createdAt < held.table.createdAt || signed.jws === held.jws;
      return this.keep(isAlike ? held : { ...held, jws: signed.jws, kid: signed.kid });
    });
    return this.#answer(taken);
  }

  /**
   * Judges a sealed snapshot by its beginning, before the rest of it is read.
   * @param beginning as of `signerOf`
   * @throws {SnapshotError} if nothing with this beginning can be accepted
   */
  admit(beginning: string): void {
    signerOf(beginning, this.options.keys());
  }

  /** As `adopt`, of what the store has: for the start. */
  restore(): Promise<void> {
    return this.#adopt(async () => this.options.store?.load());
  }

  /**
   * Takes over what has been stored, if it is newer than what is in use, or made later. Same checks as for a push; what fails
   * them changes nothing and is logged. Never rejects.
   */
  adopt(stored: string): Promise<void> {
    return this.#adopt(async () => stored);
  }

  /** Resolves when nothing is being stored. */
  settled(): Promise<void> {
    return this.copy.settled();
  }

  #adopt(read: () => Promise<string | undefined>): Promise<void> {
    return this.#inTurn(async () => {
      try {
        const stored = await read();
        if (stored === undefined) return;
        const next = await this.check(stored);
        const held = this.held;
        // Unsigned snapshots have no digest.
        const isSame = held !== undefined && next.digest !== '' && held.digest === next.digest;
        const isLate = isSame
          ? next.table.createdAt <= held.table.createdAt
          : isOlder(next, await this.#binding());
        if (isLate) return;
        requireSameCluster(next.table.snapshot.metadata.cluster, this.options.cluster);
        this.copy.read(next);
        this.use(next);
      } catch (error) {
        this.#logger.warn({ err: error }, 'The stored snapshot cannot be used');
      }
    });
  }

  /** Signature, content, addresses, creation time: every check that does not depend on the snapshot in use. */
  async #open(text: string, checked?: Snapshot['servedSets']) {
    const previous = this.held && { snapshot: this.held.table.snapshot, digest: this.held.digest };
    const { snapshot, ...signed } = await openSnapshot(text, this.options.keys(), previous, checked);
    const acceptable = this.acceptable(snapshot);
    // A renewal of the held one comes without the addresses that were left out of it.
    const isHeld = this.held !== undefined && this.held.digest === signed.digest;
    const refusedAddresses = isHeld ? this.refusedAddresses : acceptable.refusedAddresses;
    return { ...signed, ...acceptable, refusedAddresses };
  }

  /** @throws {SnapshotError} if it cannot follow what is held */
  async #requireNext({ metadata: { generation, cluster } }: Snapshot): Promise<void> {
    const binding = await this.#binding();
    requirePlausible(generation, this.#now());
    requireSameCluster(cluster, this.options.cluster ?? binding?.table.snapshot.metadata.cluster);
    requireRising(generation, binding);
  }

  /**
   * The held snapshot where its generation and its cluster bind the next one: not one whose key is no longer pinned, which
   * may have been stolen, nor one that lies far ahead of a clock that was wrong when it came.
   */
  async #binding(): Promise<Held | undefined> {
    const { held } = this;
    if (held === undefined || isGenerationAhead(held.table.generation, this.#now())) return undefined;
    const keys = this.options.keys();
    if (held.kid === undefined || keys === this.#verifiedWith) return held;
    // A reloaded file may have another key under the same ID.
    const isVerified = await verifySnapshot(held.jws, keys).then(
      () => true,
      () => false,
    );
    if (isVerified) this.#verifiedWith = keys;
    return isVerified ? held : undefined;
  }

  /** @throws {SnapshotError} `Invalid` */
  protected acceptable(given: Snapshot): Pick<Held, 'refusedAddresses'> & { readonly snapshot: Snapshot } {
    const issues = new IssueList();
    const future = futureIssue(given.metadata.createdAt, this.#now());
    if (future !== undefined) issues.add('metadata.createdAt', future);
    if (issues.count > 0) throw invalid(issues.toArray());
    const { snapshot, refused } = withoutRefusedAddresses(given, this.options.addressPolicy);
    return { snapshot, refusedAddresses: refused };
  }

  protected async check(stored: string): Promise<Held> {
    const { sealed, checked } = await this.fromStore(stored);
    const { snapshot, ...opened } = await this.#open(sealed, checked);
    const held = this.held;
    const table =
      held?.digest === opened.digest
        ? renewedTable(held.table, snapshot.metadata.createdAt)
        : this.tableOf(snapshot);
    return { ...opened, table };
  }

  protected tableOf(snapshot: Snapshot): RoutingTable {
    return buildRoutingTable(snapshot, undefined, this.#instants.of(snapshot));
  }

  /** The text that the store gets. */
  protected textOf(held: Held): Promise<string> {
    return sealedText(held);
  }

  /** @returns the stored snapshot as it was sealed, and sets of it that are known to be right */
  protected async fromStore(stored: string): Promise<FromStore> {
    return { sealed: stored };
  }

  /** Puts it in use, and has it stored beside that, or before it where others share the store. */
  protected async put(result: 'accepted' | 'renewed', next: Held): Promise<Taken> {
    const { table } = next;
    if (this.options.isStoreShared === true) {
      const error = await this.copy.save(next);
      this.use(next);
      return { result, table, saved: Promise.resolve(error) };
    }
    this.use(next);
    return { result, table, saved: this.copy.save(next) };
  }

  /** Nothing new to use. Written only if the store does not have it yet, signed in this very way. */
  protected async keep(held: Held): Promise<Taken> {
    const saved = this.copy.has(held) ? Promise.resolve(undefined) : this.copy.save(held);
    if (this.options.isStoreShared === true) await saved;
    this.held = held;
    return { result: 'unchanged', table: held.table, saved };
  }

  protected use(held: Held): void {
    const before = this.held;
    this.held = held;
    this.#verifiedWith = this.options.keys();
    const { generation, createdAt, servers } = held.table;
    this.#logger.info({ generation, createdAt, servers: servers.length }, 'Snapshot in use');
    const told = new Set(before?.refusedAddresses.map(refusedAddressText));
    for (const refused of held.refusedAddresses.map(refusedAddressText)) {
      if (!told.has(refused)) this.#logger.warn({ refused }, 'An address is left out of the snapshot');
    }
    for (const listener of this.#listeners) {
      try {
        listener(held.table);
      } catch (error) {
        // The table stays in use even if a listener fails.
        this.#logger.error({ err: error }, 'A listener failed on a new snapshot');
      }
    }
  }

  /** @param refused what is logged of a refusal; left out, it is one of a push, which the status tells as well */
  protected takeInTurn(take: () => Promise<Taken>, refused?: string): Promise<Taken> {
    return this.#inTurn(async () => {
      try {
        const taken = await take();
        this.options.onPush?.(taken.result);
        this.#refusedPush = undefined;
        return taken;
      } catch (error) {
        // Begun anew by `SharingReceiver`.
        if (!(error instanceof StoreChangedError)) this.tellOfRefusal(error, refused);
        throw error;
      }
    });
  }

  async #answer({ result, table, saved }: Taken): Promise<Acceptance> {
    const { generation, createdAt } = table;
    const error = await waitAtMost(saved, longestStoreWait, systemClock, new AbortController().signal);
    if (error === undefined) return { result, generation, createdAt, persisted: true };
    const persistenceError = error === 'timed-out' ? 'it is still being written' : error;
    return { result, generation, createdAt, persisted: false, persistenceError };
  }

  /** Logs every refused push: it may be an attack, or a key that was not rolled out. */
  tellOfRefusal(error: unknown, refused?: string): void {
    // Losing to a newer snapshot is not an error.
    if (refused === undefined && error instanceof SnapshotError && error.code !== 'NotNewer') {
      this.#refusedPush = { code: error.code, message: error.message, at: this.#now() };
    }
    this.options.onPush?.(error instanceof SnapshotError ? error.code : 'InternalError');
    this.#logger.warn({ err: error }, refused ?? 'A pushed snapshot was refused');
  }

  /** Runs `work` when everything that came before it has ended, well or badly. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}

async function sealedText({ table, jws }: Held): Promise<string> {
  // A Worker need not load it with its first request.
  const { setsText } = await import('../format/packed-snapshot.ts');
  return `${jws}\n${await setsText(table.snapshot.servedSets)}`;
}
