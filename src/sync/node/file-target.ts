import { randomUUID } from 'node:crypto';
import { createFileSnapshotStore } from '../../node/files/file-snapshot-store.ts';
import { replaceFile } from '../../node/files/write-whole-file.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../delivery/deliver.ts';

export interface FileTargetOptions {
  /** Its directory must exist. */
  readonly file: string;
  /** Plain JSON instead of a JWS: to be read, and for `explain`. Default false. */
  readonly unsigned?: boolean;
}

/**
 * Keeps the current snapshot in a file. A reader sees the old or the new one, never a part. A signed file has the form
 * of the routers' own stores, with the last renewal, so that `serve --snapshot-file` accepts it.
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
        if (unsigned || sealed === undefined) {
          const text = `${JSON.stringify(snapshot, null, 2)}\n`;
          await replaceFile(file, `${file}.${randomUUID()}.tmp`, text);
        } else await store.save(sealed);
        return { kind: 'accepted' };
      } catch (error) {
        return { kind: 'unreachable', message: errorMessage(error) };
      }
    },
  };
}
