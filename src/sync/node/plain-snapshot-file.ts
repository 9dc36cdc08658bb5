import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { checkReplaceable } from '../../node/files/replaceable-file.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';

/** Writes a snapshot as indented JSON, beside the file and renamed over it: nobody ever reads half of one. */
export async function writePlainSnapshot(file: string, snapshot: Snapshot): Promise<void> {
  await checkReplaceable(file);
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    // 0600, as for sealed ones: addresses and versions of a control plane are nobody else's business.
    await writeFile(temporary, `${JSON.stringify(snapshot, null, 2)}\n`, {
      flag: 'wx',
      mode: 0o600,
      flush: true,
    });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
