/** What the package consists of, as CycloneDX or SPDX: `npm run sbom [-- spdx]`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './make-package.ts';
import { type PackageManifest, publishedManifest } from './published-manifest.ts';

/** The lock file, as far as it is looked at here. */
interface LockFile {
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

// `npm sbom --omit=dev` leaves out what a tool depends on as well (npm 11), so it is given the product alone.
const format = process.argv[2] ?? 'cyclonedx';
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const manifest = publishedManifest(read('package.json') as PackageManifest);
const lock = read('package-lock.json') as LockFile;
const isOfTheProduct = (entry: Readonly<Record<string, unknown>>) =>
  !['dev', 'optional', 'devOptional'].some((flag) => entry[flag] === true);
const packages = Object.fromEntries(
  Object.entries(lock.packages).filter(([, entry]) => isOfTheProduct(entry)),
);

const directory = mkdtempSync(join(tmpdir(), 'sbom-'));
try {
  const write = (path: string, content: unknown) =>
    writeFileSync(join(directory, path), JSON.stringify(content));
  write('package.json', manifest);
  write('package-lock.json', { ...lock, packages: { ...packages, '': manifest } });
  const command = ['sbom', '--package-lock-only', `--sbom-format=${format}`];
  process.stdout.write(
    execFileSync('npm', command, { cwd: directory, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }),
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
