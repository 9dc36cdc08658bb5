import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LockFile, productLock } from '../../scripts/package/locked-packages.ts';
import { root } from '../../scripts/package/make-package.ts';
import type { PackageManifest } from '../../scripts/package/published-manifest.ts';

const entry = (version: string, more: object = {}) => ({ version, integrity: `sha512-${version}`, ...more });

const lock: LockFile = {
  lockfileVersion: 3,
  packages: {
    '': { dependencies: { router: '1.0.0' } },
    'node_modules/router': entry('1.0.0', {
      resolved: 'https://registry.example/router-1.0.0.tgz',
      dependencies: { parser: '^2.0.0' },
      optionalDependencies: { faster: '^4.0.0' },
      peerDependencies: { types: '*', editor: '*' },
      peerDependenciesMeta: { editor: { optional: true } },
    }),
    'node_modules/router/node_modules/parser': entry('2.1.0', { dependencies: { words: '^1.0.0' } }),
    'node_modules/parser': entry('3.0.0', { dev: true }),
    'node_modules/words': entry('1.2.0'),
    'node_modules/faster': entry('4.0.0', { optional: true }),
    'node_modules/types': entry('5.0.0'),
    'node_modules/editor': entry('6.0.0', { dev: true }),
  },
};
const manifest = {
  name: 'product',
  version: '0.1.0',
  exports: {},
  files: [],
  dependencies: { router: '1.0.0' },
};

test('the lock file of the product has what npm installs with it, and neither tools nor addresses of a registry', () => {
  const { packages, ...fields } = productLock(lock, manifest);
  assert.deepEqual(fields, { lockfileVersion: 3 });
  assert.deepEqual(packages, {
    '': manifest,
    'node_modules/faster': entry('4.0.0', { optional: true }),
    'node_modules/router': entry('1.0.0', {
      dependencies: { parser: '^2.0.0' },
      optionalDependencies: { faster: '^4.0.0' },
      peerDependencies: { types: '*', editor: '*' },
      peerDependenciesMeta: { editor: { optional: true } },
    }),
    'node_modules/router/node_modules/parser': entry('2.1.0', { dependencies: { words: '^1.0.0' } }),
    'node_modules/types': entry('5.0.0'),
    'node_modules/words': entry('1.2.0'),
  });
});

test('an installation brings forty packages at most: each runs beside the key by which API servers believe the router', () => {
  const read = <Content>(file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as Content;
  const { packages } = productLock(
    read<LockFile>('package-lock.json'),
    read<PackageManifest>('package.json'),
  );
  const names = Object.keys(packages).filter((path) => path !== '');
  assert.ok(names.length <= 40, names.join(', '));
});
