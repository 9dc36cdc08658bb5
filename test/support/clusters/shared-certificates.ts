import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoCertificates, type DemoCertificates } from '../../../demo/certificates.ts';

interface MadeCertificates {
  readonly directory: string;
  readonly paths: DemoCertificates;
  /** By name. */
  readonly files: readonly (readonly [name: string, text: string])[];
}

let made: Promise<MadeCertificates> | undefined;

/** As `createDemoCertificates`, by authorities that all clusters of a process share: making them costs 60 ms of CPU. */
export async function sharedCertificates(directory: string): Promise<DemoCertificates> {
  made ??= make();
  const { paths, files, directory: before } = await made;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await Promise.all(
    files.map(([name, text]) =>
      writeFile(join(directory, name), text, { mode: name.endsWith('.key') ? 0o600 : 0o644 }),
    ),
  );
  return JSON.parse(JSON.stringify(paths).replaceAll(before, directory)) as DemoCertificates;
}

async function make(): Promise<MadeCertificates> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-certificates-'));
  try {
    const paths = await createDemoCertificates(directory);
    const read = async (name: string) => [name, await readFile(join(directory, name), 'utf8')] as const;
    return { directory, paths, files: await Promise.all((await readdir(directory)).map(read)) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
