import {
  parseStoredSnapshotText,
  type SnapshotStore,
  storedSnapshotText,
} from '../../snapshot/receiving/snapshot-store.ts';
import type { DenoRuntime } from './deno-runtime.ts';

type FileSystem = Pick<DenoRuntime, 'readTextFile' | 'open' | 'rename' | 'remove' | 'errors'>;

/**
 * Keeps the snapshot in one file, in the form of the Node router. A save is written next to it and renamed over it, so
 * that a crash at any moment leaves the old one or the new one, never a part. One process may use one path.
 *
 * @param path the file; Deno needs leave to read and write it and `<path>.new`.
 */
export function createFileSnapshotStore(deno: FileSystem, path: string): SnapshotStore {
  const temporaryPath = `${path}.new`;

  async function save(text: string): Promise<void> {
    // A crashed writer may have left the file; without `createNew` a link there would be followed.
    await deno.remove(temporaryPath).catch(unlessMissing(deno));
    // 0600: addresses and versions of a control plane are private.
    const file = await deno.open(temporaryPath, { write: true, createNew: true, mode: 0o600 });
    try {
      await writeAll(file, new TextEncoder().encode(text));
      // Before the rename: otherwise a power failure can leave the new name with none of the new content.
      await file.sync();
    } finally {
      file.close();
    }
    await deno.rename(temporaryPath, path);
  }

  return {
    async load() {
      const text = await deno.readTextFile(path).catch(unlessMissing(deno));
      return text === undefined ? undefined : parseStoredSnapshotText(text);
    },
    save: (stored) => save(storedSnapshotText(stored)),
  };
}

async function writeAll(
  file: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await file.write(bytes.subarray(written));
}

function unlessMissing(deno: FileSystem): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof deno.errors.NotFound) return undefined;
    throw error;
  };
}
