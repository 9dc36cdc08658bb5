import { createFileSnapshotStore } from '../../node/files/file-snapshot-store.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../delivery/deliver.ts';
import { writePlainSnapshot } from './plain-snapshot-file.ts';

export interface FileTargetOptions {
  /** Its directory must exist. */
  readonly file: string;
  /** Plain JSON instead of a JWS: for people and for `explain`. Default false. */
  readonly unsigned?: boolean;
}

/**
 * Keeps the current snapshot in a file: readers see the old one or the new one, whole. Signed, it is in the form
 * in which routers store theirs, with the last renewal, so that `serve --snapshot-file` takes it.
 *
 * @example
 * ```ts
 * const target = fileTarget({ file: join(folder, 'snapshot') });
 * const { kind } = await target.put(await sealDelivery(snapshot, signingKeyOf(privateJwk)), signal);
 * console.log(kind); // accepted
 * ```
 */
export function fileTarget({ file, unsigned = false }: FileTargetOptions): SnapshotTarget {
  const store = createFileSnapshotStore(file);
  return {
    name: file,
    async put({ snapshot, sealed }: Delivery): Promise<DeliveryResult> {
      if (!unsigned && sealed === undefined) {
        return { kind: 'refused', message: 'there is no signing key: give one, or write the file unsigned' };
      }
      try {
        if (unsigned || sealed === undefined) await writePlainSnapshot(file, snapshot);
        else await store.save(sealed);
        return { kind: 'accepted' };
      } catch (error) {
        return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}
