import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A kube-apiserver of one version. */
export interface ApiServerBinary {
  /** `1.33`: how it is called in names and messages. */
  readonly version: string;
  /** Half a version more for one that was started with other flags, and knows more by them. */
  readonly minor: number;
  readonly path: string;
  /** That it is started with, beside those that every server has. Default: none. */
  readonly flags?: readonly string[];
}

/** The binaries that a live cluster is made of. */
export interface LiveAssets {
  readonly etcd: string;
  /** Binaries of at least two versions, oldest first, each version once. */
  readonly apiServers: readonly [ApiServerBinary, ApiServerBinary, ...ApiServerBinary[]];
}

export type LiveAssetsResult =
  | { readonly ok: true; readonly assets: LiveAssets }
  /** `given`: something was named that cannot be used, in place of nothing at all. */
  | { readonly ok: false; readonly given: boolean; readonly problems: readonly string[] };

/** How binaries are given, for whoever gave none. */
export const liveAssetsGuide = [
  'Give kube-apiserver binaries of two versions or more, and etcd, by the environment:',
  '  MIXED_VERSION_PROXY_LIVE_ASSETS=<directory>        with kube-apiserver-<version> files, such as kube-apiserver-1.33, and etcd',
  'or, in place of any of these or beside them,',
  '  TEST_ASSET_KUBE_APISERVERS=<path>:<path>           their names end in the version, or their --version tells it',
  '  TEST_ASSET_ETCD=<path>                             default: etcd in the directory, then on PATH',
].join('\n');

/** Finds the binaries that the environment names (the names are those of controller-runtime's envtest). */
export function assetsOfEnvironment(): LiveAssetsResult {
  const directory = process.env['MIXED_VERSION_PROXY_LIVE_ASSETS'];
  const listed = splitPaths(process.env['TEST_ASSET_KUBE_APISERVERS']);
  const given = (directory ?? '') !== '' || listed.length > 0;
  if (!given) return { ok: false, given, problems: ['no kube-apiserver binaries given'] };

  const problems: string[] = [];
  const inDirectory = directory === undefined ? [] : apiServersIn(directory);
  if (directory !== undefined && inDirectory.length === 0 && listed.length === 0) {
    problems.push(`${directory} holds no executable kube-apiserver-<version>`);
  }
  const byMinor = new Map<number, ApiServerBinary>();
  for (const path of [...inDirectory, ...listed]) {
    const binary = isExecutable(path) ? apiServerBinary(path) : undefined;
    if (binary !== undefined) byMinor.set(binary.minor, binary);
    else if (!isExecutable(path)) problems.push(`${path} is not an executable file`);
    else problems.push(`${path}: its version is neither in its name nor in what --version prints`);
  }
  const etcd = findEtcd(directory);
  if (etcd === undefined) problems.push('no etcd: set TEST_ASSET_ETCD, or put it on PATH');
  const [oldest, next, ...more] = [...byMinor.values()].sort((a, b) => a.minor - b.minor);
  if (problems.length === 0 && next === undefined) {
    problems.push(`two versions of kube-apiserver are needed, found ${oldest?.version ?? 'none'}`);
  }
  if (problems.length > 0 || etcd === undefined || oldest === undefined || next === undefined) {
    return { ok: false, given, problems };
  }
  return { ok: true, assets: { etcd, apiServers: [oldest, next, ...more] } };
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Paths of what is in a directory; empty where there is none. */
export function listDirectory(directory: string): readonly string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function splitPaths(list = ''): readonly string[] {
  return list.split(':').filter((path) => path !== '');
}

function apiServersIn(directory: string): readonly string[] {
  return listDirectory(directory).filter(
    (path) =>
      basename(path).startsWith('kube-apiserver') &&
      versionIn(basename(path)) !== undefined &&
      isExecutable(path),
  );
}

function apiServerBinary(path: string): ApiServerBinary | undefined {
  const said = () => spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 }).stdout ?? '';
  // The name first: a binary built without version stamps calls itself v0.0.0.
  const found = versionIn(basename(path)) ?? versionIn(said());
  return found === undefined ? undefined : { ...found, path };
}

function versionIn(text: string): Pick<ApiServerBinary, 'version' | 'minor'> | undefined {
  const minor = /(?:^|[^\d.])v?1\.(\d+)(?:\.\d+)?(?![\d.])/.exec(text)?.[1];
  return minor === undefined ? undefined : { version: `1.${minor}`, minor: Number(minor) };
}

function findEtcd(directory: string | undefined): string | undefined {
  const named = process.env['TEST_ASSET_ETCD'];
  if (named !== undefined && named !== '') return isExecutable(named) ? named : undefined;
  const folders = [...(directory === undefined ? [] : [directory]), ...splitPaths(process.env['PATH'])];
  return folders.map((folder) => join(folder, 'etcd')).find(isExecutable);
}
