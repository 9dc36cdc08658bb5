/** What the package consists of, as CycloneDX or SPDX: `npm run sbom [-- spdx]`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './make-package.ts';
import { type PackageManifest, publishedManifest } from './published-manifest.ts';

/** The lock file, as far as it is looked at here. */
interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

// `npm sbom --omit=dev` leaves out what a tool depends on as well (npm 11), so it is given the product alone.
const format = process.argv[2] ?? 'cyclonedx';
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const manifest = publishedManifest(read('package.json') as PackageManifest);
const lock = read('package-lock.json') as LockFile;
const packages = installedFor(manifest.dependencies);

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

/** What of the lock file the product needs: neither tools, nor what the demo alone needs. */
function installedFor(dependencies: Readonly<Record<string, string>>): Record<string, LockedPackage> {
  const found: Record<string, LockedPackage> = {};
  const visit = (from: string, name: string): void => {
    const path = pathOf(from, name);
    const entry = path === undefined ? undefined : lock.packages[path];
    if (path === undefined || entry === undefined || found[path] !== undefined) return;
    found[path] = entry;
    const peers = Object.keys(entry.peerDependencies ?? {}).filter(
      (peer) => entry.peerDependenciesMeta?.[peer]?.optional !== true,
    );
    for (const needed of [...Object.keys(entry.dependencies ?? {}), ...peers]) visit(path, needed);
  };
  for (const name of Object.keys(dependencies)) visit('', name);
  return found;
}

/** Where a package finds another one: inside itself, or beside one of those that it is inside of. */
function pathOf(from: string, name: string): string | undefined {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (path in lock.packages) return path;
  return from === ''
    ? undefined
    : pathOf(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}
