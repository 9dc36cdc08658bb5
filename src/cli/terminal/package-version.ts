import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version in the package's own manifest, for example `v0.1.0`. */
export function packageVersion(): string {
  return `v${ownManifest().version}`;
}

interface Manifest {
  readonly version: string;
  /** Only a package that was released says which commit it was made of. */
  readonly gitHead: string | undefined;
}

/** Without a schema: it is read before anything else is loaded, and nobody but this project writes it. */
export function ownManifest(): Manifest {
  // Above dist/command in a package; above src/cli/terminal in a checkout.
  const [inPackage = '', inCheckout = ''] = ['../..', '../../..'].map((up) =>
    join(import.meta.dirname, up, 'package.json'),
  );
  const path = existsSync(inPackage) ? inPackage : inCheckout;
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const text = (key: string): string | undefined => {
    const value: unknown = manifest instanceof Object ? Reflect.get(manifest, key) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return { version: text('version') ?? '0.0.0', gitHead: text('gitHead') };
}
