import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LockFile, productLock } from './locked-packages.ts';
import { root } from './make-package.ts';
import { type PackageManifest, publishedManifest } from './published-manifest.ts';

const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** The parts of the package, in the form of a standard. @param format `cyclonedx` or `spdx` */
export function sbomOf(format: string): string {
  const published = publishedManifest(read('package.json') as PackageManifest);
  // The command has its peers with it.
  const { dependencies } = read('package.json') as PackageManifest;
  const manifest = { ...published, dependencies, peerDependencies: {} };
  const lock = productLock(read('package-lock.json') as LockFile, manifest);

  const temporary = mkdtempSync(join(tmpdir(), 'sbom-'));
  // In CycloneDX npm calls the product what its directory is called, whatever package.json says.
  const directory = join(temporary, manifest.name);
  try {
    mkdirSync(directory);
    const write = (path: string, content: unknown) =>
      writeFileSync(join(directory, path), JSON.stringify(content));
    write('package.json', manifest);
    write('package-lock.json', lock);
    // `npm sbom --omit=dev` leaves out what a tool depends on as well (npm 11), so npm is given the product alone.
    const command = ['sbom', '--package-lock-only', `--sbom-format=${format}`];
    return execFileSync('npm', command, { cwd: directory, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
