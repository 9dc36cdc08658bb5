import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hasHelm, helm } from '../../scripts/helm/render-chart.ts';
import { changelogSection } from '../../scripts/release/changelog-section.ts';
import { registryCommands } from '../../scripts/release/registry-commands.ts';
import { placeholders } from '../../scripts/release/release-faults.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { WorkflowRun } from './support/workflow-run.ts';

const skip = hasHelm() ? false : 'helm is not on PATH (set TEST_ASSET_HELM)';

const tag = 'v0.1.0';
const commit = 'c0ffee'.repeat(7).slice(0, 40);

/** As CONTRIBUTING.md has it: the changelog gets its heading, and placeholders are filled in, before the tag is pushed. */
function giveHeading(checkout: string): void {
  const replace = (file: string, from: string, to: string) => {
    const path = join(checkout, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to));
  };
  replace('CHANGELOG.md', '## [Unreleased]', '## [0.1.0] - 2026-11-29');
  for (const [file, [placeholder]] of Object.entries(placeholders)) replace(file, placeholder, '@example/');
}

describe('release.yaml, command by command, with doubles for what takes a registry', { skip }, () => {
  let workflow: WorkflowRun;
  let folder: string;
  const changelog = () => changelogSection(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), '0.1.0') ?? '';
  const callsOf = (command: string) => workflow.calls.filter((call) => call.command === command);
  const packaged = () =>
    readdirSync(workflow.artifact('packages', '.')).filter((name) => name.endsWith('.tgz'));

  const directory = mkdtempSync(join(tmpdir(), 'mixed-version-proxy-test-'));
  before(() => {
    workflow = new WorkflowRun('release.yaml', directory, tag, giveHeading);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('build: the package tells its commit and its repository, and comes with notes and two SBOMs', () => {
    folder = workflow.run('build');
    const file = (name: string) => readFileSync(workflow.artifact('packages', name), 'utf8');
    assert.equal(file('notes.md').trim(), changelog());
    assert.equal(JSON.parse(file('sbom.cdx.json')).bomFormat, 'CycloneDX');
    assert.match(JSON.parse(file('sbom.spdx.json')).spdxVersion, /^SPDX-/);
    assert.equal(packaged().length, 1);
    const tarball = workflow.artifact('packages', packaged()[0] ?? '');
    const manifest = JSON.parse(
      execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }),
    );
    assert.equal(manifest.version, '0.1.0');
    assert.equal(manifest.gitHead, commit);
    assert.equal(manifest.repository.url, 'git+https://github.com/Example/Proxy.git');
  });

  test('release:check says what only registries can show', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['scripts/release/main.ts', tag], {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.equal(stdout.trim(), changelog());
    for (const what of Object.values(registryCommands)) assert.ok(stderr.includes(what), what);
  });

  test('packages: each tarball is published with its provenance, as the newest version', () => {
    workflow.run('packages');
    assert.deepEqual(
      callsOf('npm publish').map(({ args }) => args.join(' ')),
      packaged().map((name) => `publish ./release/${name} --provenance --access public --tag latest`),
    );
  });

  test('packages: a prerelease is not what npm install takes by default', async (context) => {
    const prerelease = new WorkflowRun('release.yaml', await temporaryDirectory(context), 'v0.1.0-rc.1');
    mkdirSync(prerelease.artifact('packages', '.'));
    writeFileSync(prerelease.artifact('packages', 'a.tgz'), '');
    prerelease.run('packages');
    assert.match(prerelease.calls[0]?.args.join(' ') ?? '', / --tag next$/);
  });

  test('image: both architectures under the version, told their commit, and each SBOM is JSON', () => {
    const checkout = workflow.run('image');
    assert.equal(callsOf('docker login')[0]?.given, 'a-token\n');
    const [build] = callsOf('docker buildx build');
    assert.match(
      build?.args.join(' ') ?? '',
      /--platform linux\/amd64,linux\/arm64 .*--tag ghcr\.io\/example\/proxy:0\.1\.0 /,
    );
    assert.equal(JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).gitHead, commit);
    const files = readdirSync(workflow.artifact('image', '.'));
    assert.deepEqual(files, ['image-sbom-amd64.spdx.json', 'image-sbom-arm64.spdx.json']);
    for (const file of files) JSON.parse(readFileSync(workflow.artifact('image', file), 'utf8'));
  });

  test('chart: what is pushed runs the image that was pushed, by digest, without a value', () => {
    workflow.run('chart');
    assert.deepEqual(
      callsOf('helm push').map(({ args }) => args),
      [['push', 'release/mixed-version-proxy-0.1.0.tgz', 'oci://ghcr.io/example/charts']],
    );
    const chart = workflow.artifact('chart', 'mixed-version-proxy-0.1.0-chart.tgz');
    const rendered = execFileSync(helm, ['template', 'a', chart, '--kube-version', '1.36.0'], {
      encoding: 'utf8',
    });
    assert.deepEqual(rendered.match(/image: .*/g), [
      `image: ghcr.io/example/proxy@sha256:${'0a'.repeat(32)}`,
    ]);
  });

  test('release: everything that was made, with the changelog and the image', () => {
    workflow.run('release');
    const [release] = callsOf('gh release create');
    const attached = release?.args.filter((arg) => arg.startsWith('release/') && !arg.endsWith('.md'));
    const made = ['packages', 'image', 'chart'].flatMap((name) => readdirSync(workflow.artifact(name, '.')));
    assert.deepEqual(
      attached?.toSorted(),
      made
        .filter((name) => name !== 'notes.md')
        .map((name) => `release/${name}`)
        .toSorted(),
    );
    assert.equal(release?.args[2], tag);
    assert.ok(!release?.args.includes('--prerelease'));
    assert.ok(release?.notes.startsWith(changelog()));
    assert.match(release?.notes ?? '', /\nImage: `ghcr\.io\/example\/proxy@sha256:(0a){32}`\n$/);
  });

  test('takes a registry for what release:check names, and for nothing else', () => {
    const taken = new Set(workflow.calls.map(({ command }) => command));
    // kubectl of the tests is downloaded where they run.
    assert.deepEqual([...taken, 'curl'].toSorted(), Object.keys(registryCommands).toSorted());
  });
});

test('test.yaml: the job of the chart passes', { skip }, async (context) => {
  const workflow = new WorkflowRun('test.yaml', await temporaryDirectory(context), tag);
  workflow.run('chart');
  assert.deepEqual(workflow.calls, []);
});

/** Jobs that cannot run inside of a test. */
const notRun = {
  'test.yaml everything': '.ci/run is what runs this test; before it kubectl is downloaded',
  'test.yaml image': 'test:live:image is a test by itself',
  'mutate.yaml mutants': 'each mutant has tests run for minutes',
  'mutate.yaml simulation': 'it simulates for an hour and more',
};

test('every job that runs commands is run by a test, or named with the reason why not', async (context) => {
  const run = [
    'release.yaml build',
    'release.yaml packages',
    'release.yaml image',
    'release.yaml chart',
    'release.yaml release',
    'test.yaml chart',
  ];
  const jobs = await Promise.all(
    readdirSync(join(import.meta.dirname, '../../.github/workflows')).map(async (file) =>
      new WorkflowRun(file, await temporaryDirectory(context), tag).jobs.map((job) => `${file} ${job}`),
    ),
  );
  assert.deepEqual(jobs.flat().toSorted(), [...run, ...Object.keys(notRun)].toSorted());
});
