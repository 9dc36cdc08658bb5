import type { PackageManifest } from './published-manifest.ts';

/** A lock file of npm, as far as it is looked at here. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
  readonly [field: string]: unknown;
}

interface LockedPackage {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly resolved?: string;
}

/**
 * The lock file of the product alone: without tools and the demo's dependencies. Without the registry that a package
 * came from: whoever installs it uses their own, and `integrity` tells whether that has the same. Peers are the installing
 * program's. Pure.
 */
export function productLock({ packages, ...fields }: LockFile, manifest: PackageManifest) {
  const { dependencies, peerDependencies = {} } = manifest;
  const needed: Record<string, LockedPackage> = {};
  const visit = (from: string, name: string): void => {
    if (name in peerDependencies) return;
    const path = pathOf(packages, from, name);
    const entry = path === undefined ? undefined : packages[path];
    if (path === undefined || entry === undefined || needed[path] !== undefined) return;
    const { resolved: _, ...kept } = entry;
    needed[path] = kept;
    for (const each of installedWith(entry)) visit(path, each);
  };
  for (const name of Object.keys(dependencies)) visit('', name);
  const paths = Object.entries(needed).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...fields, packages: { '': manifest, ...Object.fromEntries(paths) } };
}

/** Names of what npm installs together with a package. */
function installedWith({
  dependencies = {},
  optionalDependencies = {},
  peerDependencies = {},
  peerDependenciesMeta = {},
}: LockedPackage): readonly string[] {
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** Where a package finds another one: inside itself, or beside one of those that it is inside of. */
function pathOf(packages: LockFile['packages'], from: string, name: string): string | undefined {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (path in packages) return path;
  return from === ''
    ? undefined
    : pathOf(packages, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}
