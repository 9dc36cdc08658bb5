import { sha256Digest } from '../../runtime/sha256.ts';
import { snapshotLimits } from '../format/limits.ts';
import { isParsed, parseSnapshotText } from '../format/parse-snapshot.ts';
import { snapshotText } from '../format/shared-groups.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import type { Snapshot } from '../format/types.ts';
import type { OpenedSnapshot } from '../signing/open-sealed.ts';
import type { SnapshotReceiverOptions } from './receiver-options.ts';

/**
 * Opens a snapshot that the sync job in this very process has made, or that it had made before a restart: size, then
 * content, as for a pushed one. There is no signature: only this process calls `SnapshotReceiver.acceptOwn`, and only
 * this user may write the file.
 *
 * @param made the snapshot that this is the text of; one that the sync job has checked already is not read from its text again
 * @returns with a digest that a renewal does not change: all but the time of making is in it
 * @throws {SnapshotError} `Invalid`
 */
export async function openOwnSnapshot(text: string, made?: Snapshot): Promise<Omit<OpenedSnapshot, 'kid'>> {
  if (!text.startsWith('{')) {
    throw new SnapshotError(
      'Invalid',
      'The snapshot is a signed one, which a sync job pushed before this router read the cluster itself: it makes its own.',
    );
  }
  // In UTF-8 it has three bytes for each character at most.
  const isSmall = text.length * 3 <= snapshotLimits.bytes;
  const snapshot = made !== undefined && isSmall && isParsed(made) ? made : await parsedText(text);
  const undated = { ...snapshot, metadata: { ...snapshot.metadata, createdAt: '' } };
  const digest = await sha256Digest(new TextEncoder().encode(snapshotText(undated)));
  return { snapshot, digest };
}

async function parsedText(text: string): Promise<Snapshot> {
  const parsed = await parseSnapshotText(text);
  if (!parsed.ok) throw invalid('The snapshot', parsed.issues);
  return parsed.snapshot;
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
