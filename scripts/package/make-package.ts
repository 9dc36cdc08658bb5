import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleWorker } from '../worker/bundle-worker.ts';
import { bundleCommand } from './bundle-command.ts';
import { type LockFile, productLock } from './locked-packages.ts';
import { type PackageManifest, publishedManifest } from './published-manifest.ts';
import { publishedPage } from './published-page.ts';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../..');

/** Beside what `files` in package.json names, as npm itself would add them; its README is for programs, the checkout's for operators. */
const pages = {
  'README.md': 'scripts/package/package-readme.md',
  'CHANGELOG.md': 'CHANGELOG.md',
  LICENSE: 'LICENSE',
};

export interface MadePackage {
  /** The package, unpacked. */
  readonly directory: string;
  /** The file that `npm publish` takes and `npm install` installs. */
  readonly tarball: string;
  readonly manifest: PackageManifest;
}

/** Builds the package that is published, apart from the checkout, which it leaves as it is. @param out an existing directory */
export async function makePackage(out: string): Promise<MadePackage> {
  const directory = join(out, 'package');
  mkdirSync(directory);
  const dist = join(directory, 'dist');
  build('tsconfig.build.json', dist);
  // The command is the bundle; nothing that the package exports imports its parts.
  rmSync(join(dist, 'src/cli'), { recursive: true });
  await bundleCommand(dist);
  await writeWorker(join(dist, 'worker'));
  cpSync(join(root, 'bin'), join(directory, 'bin'), { recursive: true });
  const manifest = publishedManifest(readRootJson('package.json') as PackageManifest);
  const origin = { repository: manifest.repository?.url, commit: manifest.gitHead };
  for (const [name, path] of Object.entries(pages)) {
    writeFileSync(join(directory, name), publishedPage(readFileSync(join(root, path), 'utf8'), origin));
  }
  // Without it npm takes the newest of what dependencies depend on, on control-plane nodes and as root.
  const lock = productLock(readRootJson('package-lock.json') as LockFile, manifest);
  writeJson(join(directory, 'npm-shrinkwrap.json'), lock);
  return { directory, tarball: pack(directory, manifest, out), manifest };
}

/** The Worker in pieces, as `wrangler` uploads them: a bundler would make one module of them, all of which a start compiles. */
async function writeWorker(directory: string): Promise<void> {
  mkdirSync(directory);
  for (const { name, contents } of await bundleWorker()) writeFileSync(join(directory, name), contents);
}

function readRootJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function writeJson(path: string, content: object): void {
  writeFileSync(path, `${JSON.stringify(content, undefined, 2)}\n`);
}

/** @returns the tarball's path */
function pack(directory: string, manifest: object, out: string): string {
  writeJson(join(directory, 'package.json'), manifest);
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', out], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return join(out, tarballName(JSON.parse(packed)));
}

/** @throws {Error} with what the compiler says of sources that cannot be built */
function build(project: string, out: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(
    process.execPath,
    [compiler, '-p', project, '--outDir', out, '--sourceMap', 'false'],
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
