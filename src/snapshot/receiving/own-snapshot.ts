import { sha256Digest } from '../../runtime/sha256.ts';
import { parseSnapshotText } from '../format/parse-snapshot.ts';
import { snapshotText } from '../format/shared-groups.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import type { OpenedSnapshot } from '../signing/seal.ts';
import type { SnapshotReceiverOptions } from './receiver-options.ts';

/**
 * Opens a snapshot that the sync job in this very process has made, or that it had made before a restart: size, then
 * content, as for a pushed one. There is no signature: only this process calls `SnapshotReceiver.acceptOwn`, and only
 * this user may write the file.
 *
 * @returns with a digest that a renewal does not change: all but the time of making is in it
 * @throws {SnapshotError} `Invalid`
 */
export async function openOwnSnapshot(text: string): Promise<Omit<OpenedSnapshot, 'kid'>> {
  if (!text.startsWith('{')) {
    throw new SnapshotError(
      'Invalid',
      'The snapshot is a signed one, which a sync job pushed before this router read the cluster itself: it makes its own.',
    );
  }
  const parsed = await parseSnapshotText(text);
  if (!parsed.ok) throw invalid('The snapshot', parsed.issues);
  const { snapshot } = parsed;
  const undated = { ...snapshot, metadata: { ...snapshot.metadata, createdAt: '' } };
  const digest = await sha256Digest(new TextEncoder().encode(snapshotText(undated)));
  return { snapshot, digest };
}

/** @throws {SnapshotError} for a push to a router that reads the cluster itself */
export function requirePushed({
  readsClusterItself,
}: Pick<SnapshotReceiverOptions, 'readsClusterItself'>): void {
  if (readsClusterItself !== true) return;
  throw new SnapshotError(
    'ReadsClusterItself',
    'This router reads the cluster itself (--kubeconfig, --in-cluster) and takes no snapshot that is pushed: take it off the targets of the sync job, or give it --snapshot-keys in place of those flags.',
  );
}
