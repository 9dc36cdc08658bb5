import { isSameContent, snapshotText } from '../format/packed-snapshot.ts';
import { parseSnapshot, parseSnapshotText } from '../format/parse-snapshot.ts';
import type { Snapshot } from '../format/schema.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import { renewedTable } from '../routing-table/build-routing-table.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import { type Acceptance, acceptance, type Held, requireRising, SnapshotReceiver } from './receiver.ts';

/**
 * The receiver of a router that reads the cluster itself: the sync job runs in its process and hands its snapshots to
 * `acceptOwn`. Nothing that is pushed is taken, and what is stored is not signed.
 */
export class OwnSnapshotReceiver extends SnapshotReceiver {
  override accept(_jws: string): Promise<Acceptance> {
    return this.takeInTurn(refusePush);
  }

  /**
   * Takes a snapshot of the sync job in this process, if its content holds and its generation rises: every rule of a pushed
   * one but the signature. The held one with a later time of making is `renewed`.
   * @throws {SnapshotError} with the reason; nothing has changed then.
   */
  acceptOwn(snapshot: Snapshot): Promise<Acceptance> {
    const take = async (): Promise<Acceptance> => {
      const parsed = await parseSnapshot(snapshot);
      if (!parsed.ok) throw invalid(parsed.issues);
      const next = this.acceptable(parsed.snapshot);
      const held = this.held;
      const { generation } = next.metadata;
      const isSame =
        held !== undefined &&
        held.table.generation === generation &&
        isSameContent(held.table.snapshot, next);
      if (!isSame) requireRising(generation, held);
      const table = isSame ? laterTable(held.table, next) : this.tableOf(next);
      if (table === held?.table && held.persisted) return acceptance('unchanged', table, undefined);
      // In use before it is stored: a busy disk may take a second, and what is lost can be read again.
      if (table !== held?.table) this.use(own(table, false));
      const persistenceError = await this.save(() => snapshotText(next));
      this.held = own(table, persistenceError === undefined);
      const result = table === held?.table ? 'unchanged' : isSame ? 'renewed' : 'accepted';
      return acceptance(result, table, persistenceError);
    };
    return this.takeInTurn(take, 'What this router has read was refused');
  }

  protected override async check(stored: string): Promise<Held> {
    return own(this.tableOf(this.acceptable(await openOwnSnapshot(stored))), true);
  }
}

/** The same table for the same time of making. @throws {SnapshotError} for an earlier one: the clock was set back */
function laterTable(table: RoutingTable, { metadata }: Snapshot): RoutingTable {
  const renewed = renewedTable(table, metadata.createdAt);
  if (renewed.createdAt === table.createdAt) return table;
  if (renewed.createdAt > table.createdAt) return renewed;
  throw new SnapshotError('NotNewer', 'The snapshot was made before the one that is held.');
}

function own(table: RoutingTable, persisted: boolean): Held {
  return { table, digest: '', jws: '', persisted };
}

async function refusePush(): Promise<never> {
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
