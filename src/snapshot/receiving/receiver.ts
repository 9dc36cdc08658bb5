import { errorMessage } from '../../runtime/errors.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { parseRfc3339 } from '../../runtime/time.ts';
import { type DocumentIssue, IssueList } from '../../runtime/validation.ts';
import { type AddressPolicy, checkServerAddress } from '../addresses/address-policy.ts';
import type { Snapshot } from '../format/schema.ts';
import { invalid, SnapshotError, type SnapshotErrorCode } from '../format/snapshot-error.ts';
import { buildRoutingTable, renewedTable } from '../routing-table/build-routing-table.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import { VersionInstants, type VersionInstantsOptions } from '../routing-table/version-instants.ts';
import type { PinnedKeySet } from '../signing/keys.ts';
import { type OpenedSnapshot, openSnapshot } from '../signing/open-sealed.ts';
import { type SnapshotStore, StoreChangedError } from './snapshot-store.ts';

export interface SnapshotReceiverOptions extends VersionInstantsOptions {
  /** Asked for each snapshot, so that a reloaded key file counts from then on. */
  readonly keys: () => PinnedKeySet;
  readonly addressPolicy: AddressPolicy;
  /** Default: none, and a restart finds nothing. */
  readonly store?: SnapshotStore | undefined;
  /** Milliseconds since the epoch; default `Date.now`. */
  readonly now?: (() => number) | undefined;
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
  /** False: in use, but the store could not be written, so a restart would not find it. */
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
  readonly persisted: boolean;
}

async function sealedText({ table, jws }: Omit<Held, 'persisted'>): Promise<string> {
  // A Worker need not load it with its first request.
  const { setsText } = await import('../format/packed-snapshot.ts');
  return `${jws}\n${await setsText(table.snapshot.servedSets)}`;
}

export function acceptance(
  result: Acceptance['result'],
  table: RoutingTable,
  persistenceError: string | undefined,
): Acceptance {
  const { generation, createdAt } = table;
  const persisted = persistenceError === undefined;
  return { result, generation, createdAt, persisted, ...(persisted ? {} : { persistenceError }) };
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

/** How far the maker's clock may be ahead of the receiver's: the leeway Kerberos made customary. */
const maximumClockSkewMilliseconds = 5 * 60 * 1000;

/**
 * What a well-formed snapshot must fulfil to be used by this receiver: no address of a server that the policy refuses,
 * and no creation time in the future, which would hide its age.
 */
function checkAcceptance(snapshot: Snapshot, policy: AddressPolicy, now: number): DocumentIssue[] {
  const issues = new IssueList();
  const future = futureIssue(snapshot.metadata.createdAt, now);
  if (future !== undefined) issues.add('metadata.createdAt', future);
  for (const [index, server] of snapshot.servers.entries()) {
    for (const field of ['address', 'url'] as const) {
      const text = server[field];
      const reason = text === undefined ? undefined : checkServerAddress(text, policy);
      if (reason !== undefined)
        issues.add(`servers[${index}].${field}`, `the address of ${server.id} ${reason}`);
    }
  }
  return issues.toArray();
}

/**
 * Removes advertised addresses that the policy refuses: the flags of one router must not cost the others their snapshot,
 * and its server has its own address.
 */
function withoutRefusedAddresses(snapshot: Snapshot, policy: AddressPolicy): Snapshot {
  const isRefused = (address: string | undefined): boolean =>
    address !== undefined && checkServerAddress(address, policy) !== undefined;
  if (!snapshot.servers.some((server) => isRefused(server.advertised?.address))) return snapshot;
  return {
    ...snapshot,
    servers: snapshot.servers.map((server) => {
      if (!isRefused(server.advertised?.address)) return server;
      const { advertised: _advertised, ...own } = server;
      return own;
    }),
  };
}

function futureIssue(createdAt: string, now: number): string | undefined {
  const created = parseRfc3339(createdAt);
  if (created === undefined || created - now <= maximumClockSkewMilliseconds) return undefined;
  const seconds = Math.round((created - now) / 1000);
  return `lies ${seconds} seconds in the future; compare the clocks of both machines`;
}

/**
 * The one way in for snapshots. Pushes are taken one at a time; each is taken whole or changes nothing.
 *
 * What is pushed is written to the store first and then put in use in one assignment. A store that cannot be
 * written does not keep the router on old routes: the snapshot is used all the same, the response says
 * `persisted: false`, and the next push of it tries to write again.
 */
export class SnapshotReceiver {
  protected readonly options: SnapshotReceiverOptions;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #listeners = new Set<(table: RoutingTable) => void>();
  protected held: Held | undefined;
  #refusedPush: RefusedPush | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  readonly #instants: VersionInstants;

  constructor(options: SnapshotReceiverOptions) {
    this.options = options;
    this.#now = options.now ?? Date.now;
    this.#logger = options.logger ?? silentLogger;
    this.#instants = new VersionInstants(options);
  }

  /** The table in use; `undefined` until there is one. It may be old (see `createdAt`). */
  current(): RoutingTable | undefined {
    return this.held?.table;
  }

  /** The last push, when it was refused: what an operator looks for while the snapshot grows old. */
  get refusedPush(): RefusedPush | undefined {
    return this.#refusedPush;
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
   * Takes a sealed snapshot if its signature and content hold and its generation rises. Sets that are held may be left out
   * of it, and others may be what differs from those. The held snapshot sent again is `unchanged`, under any valid signature,
   * and `renewed` if it was made later: one that is played back revives nothing. Other content needs a higher generation.
   * @throws {SnapshotError} with the reason; nothing has changed then.
   */
  accept(sealed: string): Promise<Acceptance> {
    return this.takeInTurn(async () => {
      const { snapshot, digest, jws } = await this.#open(sealed);
      const held = this.held;
      if (held?.digest !== digest) {
        requireRising(snapshot.metadata.generation, held);
        return this.#replace('accepted', { table: this.tableOf(snapshot), digest, jws });
      }
      const table = renewedTable(held.table, snapshot.metadata.createdAt);
      if (table.createdAt > held.table.createdAt) return this.#replace('renewed', { table, digest, jws });
      return this.#keep(table.createdAt < held.table.createdAt ? held : { ...held, jws });
    });
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

  #adopt(read: () => Promise<string | undefined>): Promise<void> {
    return this.#inTurn(async () => {
      try {
        const stored = await read();
        if (stored === undefined) return;
        const next = await this.check(stored);
        const held = this.held;
        // Unsigned snapshots have no digest.
        const isSame = held !== undefined && next.digest !== '' && held.digest === next.digest;
        if (isSame ? next.table.createdAt <= held.table.createdAt : isOlder(next, held)) return;
        this.use(next);
      } catch (error) {
        this.#logger.warn({ err: error }, 'The stored snapshot cannot be used');
      }
    });
  }

  /** Signature, content, addresses, creation time: every check that does not depend on the snapshot in use. */
  async #open(text: string): Promise<OpenedSnapshot> {
    const previous = this.held && { snapshot: this.held.table.snapshot, digest: this.held.digest };
    const opened = await openSnapshot(text, this.options.keys(), previous);
    return { ...opened, snapshot: this.acceptable(opened.snapshot) };
  }

  /** @throws {SnapshotError} `Invalid` */
  protected acceptable(given: Snapshot): Snapshot {
    const { addressPolicy } = this.options;
    const issues = checkAcceptance(given, addressPolicy, this.#now());
    if (issues.length > 0) throw invalid(issues);
    const snapshot = withoutRefusedAddresses(given, addressPolicy);
    if (snapshot !== given) {
      this.#logger.info(
        { generation: snapshot.metadata.generation },
        'Addresses that routers advertise are not used: the address policy refuses them',
      );
    }
    return snapshot;
  }

  protected async check(stored: string): Promise<Held> {
    const { snapshot, digest, jws } = await this.#open(stored);
    const held = this.held;
    const table =
      held?.digest === digest
        ? renewedTable(held.table, snapshot.metadata.createdAt)
        : this.tableOf(snapshot);
    return { table, digest, jws, persisted: true };
  }

  /** Nothing new to use. Written only if the store does not have it yet, signed in this very way. */
  async #keep(held: Held): Promise<Acceptance> {
    if (this.held?.jws === held.jws && held.persisted) return acceptance('unchanged', held.table, undefined);
    const persistenceError = await this.save(() => sealedText(held));
    this.held = { ...held, persisted: persistenceError === undefined };
    return acceptance('unchanged', held.table, persistenceError);
  }

  async #replace(result: 'accepted' | 'renewed', next: Omit<Held, 'persisted'>): Promise<Acceptance> {
    const persistenceError = await this.save(() => sealedText(next));
    this.use({ ...next, persisted: persistenceError === undefined });
    return acceptance(result, next.table, persistenceError);
  }

  protected tableOf(snapshot: Snapshot): RoutingTable {
    return buildRoutingTable(snapshot, undefined, this.#instants.of(snapshot));
  }

  protected async save(stored: () => Promise<string>): Promise<string | undefined> {
    try {
      const { store } = this.options;
      if (store !== undefined) await store.save(await stored());
      return undefined;
    } catch (error) {
      // The store may hold a newer one by now.
      if (error instanceof StoreChangedError) throw error;
      this.#logger.warn({ err: error }, 'The snapshot is in use but could not be stored');
      return errorMessage(error);
    }
  }

  protected use(held: Held): void {
    this.held = held;
    const { generation, createdAt, servers } = held.table;
    this.#logger.info({ generation, createdAt, servers: servers.length }, 'Snapshot in use');
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
  protected takeInTurn(take: () => Promise<Acceptance>, refused?: string): Promise<Acceptance> {
    return this.#inTurn(async () => {
      try {
        const acceptance = await take();
        this.options.onPush?.(acceptance.result);
        this.#refusedPush = undefined;
        return acceptance;
      } catch (error) {
        // Begun anew by `SharingReceiver`.
        if (!(error instanceof StoreChangedError)) this.tellOfRefusal(error, refused);
        throw error;
      }
    });
  }

  /** Logs every refused push: it may be an attack, or a key that was not rolled out. */
  protected tellOfRefusal(error: unknown, refused?: string): void {
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
