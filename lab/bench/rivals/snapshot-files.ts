import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';

/** Signs a snapshot with a key made for it and writes what `--snapshot-file` and `--snapshot-keys` name. */
export async function writeSnapshotFiles(
  directory: string,
  snapshot: Snapshot,
): Promise<{ readonly snapshot: string; readonly keys: string }> {
  const { privateJwk, publicJwk } = await generateSigningKey('ES256');
  const paths = { snapshot: join(directory, 'snapshot'), keys: join(directory, 'snapshot-keys.json') };
  const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));
  await writeFile(paths.snapshot, `${sealed}\n`);
  await writeFile(paths.keys, JSON.stringify({ keys: [publicJwk] }));
  return paths;
}
