/** A package.json, as far as it is looked at here. */
export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  /** Only of what is published. */
  readonly peerDependencies?: Readonly<Record<string, string>>;
  /** A release sets both. */
  readonly repository?: { readonly url: string };
  readonly gitHead?: string;
  readonly [field: string]: unknown;
}

/**
 * Fields of the manifest that are for a checkout only.
 *
 * `optionalDependencies` are Node itself, 200 MB for machines that have an older one: npm installs a
 * package's optional dependencies for whoever depends on it, so they must not be in what is published. `private`
 * keeps a checkout from being published by accident; what `npm run package` makes is meant to be.
 */
const checkoutOnly: ReadonlySet<string> = new Set([
  'private',
  'scripts',
  'devDependencies',
  'optionalDependencies',
  'allowScripts',
  'workspaces',
]);

/**
 * Packages whose classes stand in the library's own types: a program and the library must have one of them, the program's. The
 * command has its own, bundled. Tried with the oldest of each range and with that of the checkout (test/package).
 */
const peers: Readonly<Record<string, string>> = { hono: '>=4.12.0 <5', jose: '^6.2.17' };

/** The package.json of the published package. Pure. */
export function publishedManifest(manifest: PackageManifest): PackageManifest {
  const { name, version, exports } = manifest;
  const dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies).filter(([dependency]) => !(dependency in peers)),
  );
  // npm leaves both out of a package unless they are named here.
  const files = [...manifest.files, 'npm-shrinkwrap.json', 'CHANGELOG.md'];
  const rest = Object.entries(manifest).filter(([field]) => !checkoutOnly.has(field));
  return {
    ...Object.fromEntries(rest),
    name,
    version,
    exports,
    files,
    dependencies,
    peerDependencies: peers,
  };
}
