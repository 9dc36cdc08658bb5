import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const root = new URL('../../', import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>;
};

test('everything that package.json exports is built, with its types, and loads', async () => {
  const out = await mkdtemp(join(root, 'node_modules', '.exports-'));
  try {
    execFileSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--outDir', out],
      {
        cwd: root,
      },
    );
    for (const [name, { types, default: module }] of Object.entries(manifest.exports)) {
      const built = (path: string) => join(out, path.replace('./dist/', ''));
      assert.ok(existsSync(built(types)), `${name}: ${types}`);
      // The package's own dependencies are found from inside its root.
      await import(pathToFileURL(built(module)).href);
    }
  } finally {
    await rm(out, { recursive: true, force: true });
  }
});
