import { isSameContent, snapshotText } from '../format/packed-snapshot.ts';
import { parseSnapshot, parseSnapshotText } from '../format/parse-snapshot.ts';
import type { Snapshot } from '../format/schema.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import { renewedTable } from '../routing-table/build-routing-table.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import { type Held, requireRising, SnapshotReceiver, type Taken } from './receiver.ts';

/**
 * The receiver of a router that reads the cluster itself: the sync job runs in its process and hands its snapshots to
 * `acceptOwn`. Nothing that is pushed is taken, and what is stored is not signed.
 */
export class OwnSnapshotReceiver extends SnapshotReceiver {
  override accept(_jws: string): Promise<never> {
    return this.takeInTurn(async () => refusePush()) as Promise<never>;
  }

  override admit(_beginning: string): never {
    return refusePush();
  }

  /**
   * Takes a snapshot of the sync job in this process, if its content holds and its generation rises: every rule of a pushed
   * one but the signature, and the name of the cluster, which the same settings say. The held one with a later time of making
   * is `renewed`. It is stored beside that: what a crash loses can be read again.
   * @throws {SnapshotError} with the reason; nothing has changed then.
   */
  async acceptOwn(given: Snapshot): Promise<Pick<Taken, 'result' | 'table'>> {
    const take = async (): Promise<Taken> => {
      const parsed = await parseSnapshot(given);
      if (!parsed.ok) throw invalid(parsed.issues);
      const { snapshot, refusedAddresses } = this.acceptable(parsed.snapshot);
      const held = this.held;
      const { generation } = snapshot.metadata;
      const isSame =
        held !== undefined &&
        held.table.generation === generation &&
        isSameContent(held.table.snapshot, snapshot);
      if (!isSame) requireRising(generation, held);
      const table = isSame ? laterTable(held.table, snapshot) : this.tableOf(snapshot);
      if (held !== undefined && table === held.table) return this.keep(held);
      return this.put(isSame ? 'renewed' : 'accepted', own(table, refusedAddresses));
    };
    return this.takeInTurn(take, 'What this router has read was refused');
  }

  protected override async check(stored: string): Promise<Held> {
    const { snapshot, refusedAddresses } = this.acceptable(await openOwnSnapshot(stored));
    return own(this.tableOf(snapshot), refusedAddresses);
  }

  /** With the time of its last renewal. */
  protected override textOf({ table: { snapshot, createdAt } }: Held): Promise<string> {
    const metadata = { ...snapshot.metadata, createdAt: new Date(createdAt).toISOString() };
    return snapshotText({ ...snapshot, metadata });
  }
}

/** The same table for the same time of making. @throws {SnapshotError} for an earlier one: the clock was set back */
function laterTable(table: RoutingTable, { metadata }: Snapshot): RoutingTable {
  const renewed = renewedTable(table, metadata.createdAt);
  if (renewed.createdAt === table.createdAt) return table;
  if (renewed.createdAt > table.createdAt) return renewed;
  throw new SnapshotError('NotNewer', 'The snapshot was made before the one that is held.');
}

function own(table: RoutingTable, refusedAddresses: Held['refusedAddresses']): Held {
  return { table, digest: '', jws: '', kid: undefined, refusedAddresses };
}

function refusePush(): never {
  throw new SnapshotError(
    'ReadsClusterItself',
    'This router reads the cluster itself (--kubeconfig, --in-cluster) and takes no snapshot that is pushed: take it off the targets of the sync job, or give it --snapshot-keys in place of those flags.',
  );
}

/**
 * Opens the text of a snapshot that this router itself has read before a restart: size, then content, as of a pushed one.
 * There is no signature: only this user may write the file.
 * @throws {SnapshotError} `Invalid`
 */
async function openOwnSnapshot(text: string): Promise<Snapshot> {
  if (!text.startsWith('{')) {
    throw new SnapshotError(
      'Invalid',
      'The snapshot is a signed one, which a sync job pushed before this router read the cluster itself: it makes its own.',
    );
  }
  const parsed = await parseSnapshotText(text);
  if (!parsed.ok) throw invalid(parsed.issues);
  return parsed.snapshot;
}
