import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type PackageManifest, publishedManifest } from './published-manifest.ts';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../..');

/** Beside what `files` in package.json names, as npm itself would add them. */
const pages = ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'];

export interface MadePackage {
  /** The package, unpacked. */
  readonly directory: string;
  /** What `npm publish` takes and `npm install` installs. */
  readonly tarball: string;
  readonly manifest: PackageManifest;
}

/** Builds the package that is published, apart from the checkout, which it leaves as it is. @param out an existing directory */
export function makePackage(out: string): MadePackage {
  const directory = join(out, 'package');
  mkdirSync(directory);
  build(join(directory, 'dist'));
  cpSync(join(root, 'bin'), join(directory, 'bin'), { recursive: true });
  for (const page of pages) cpSync(join(root, page), join(directory, page));
  const manifest = publishedManifest(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageManifest,
  );
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', out], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { directory, tarball: join(out, tarballName(JSON.parse(packed))), manifest };
}

/** @throws {Error} with what the compiler says of sources that cannot be built */
function build(out: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json', '--outDir', out, '--sourceMap', 'false'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the sources cannot be built:\n${stdout}`);
}

/** npm 12 answers with an object by package name, npm 11 and older with a list. */
function tarballName(packed: unknown): string {
  const [first] = Object.values(packed as object) as { readonly filename?: string }[];
  if (first?.filename === undefined) throw new Error('npm pack did not say what it wrote');
  return first.filename;
}
