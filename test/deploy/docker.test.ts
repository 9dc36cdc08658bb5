import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as { version: string; license: string };

/** Instructions in their order, continued lines joined. */
const instructions = read('deploy/docker/Dockerfile')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .join('\n')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .map((line) => {
    const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? assert.fail(line);
    return { name, rest };
  });
const lastStage = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
const words = (text: string) => text.split(' ').filter((word) => !word.startsWith('--'));

/** Sources that are copied out of the checkout. */
const sources = instructions
  .filter(({ name, rest }) => name === 'COPY' && !rest.includes('--from='))
  .flatMap(({ rest }) => words(rest).slice(0, -1));

test('the image copies what there is, and its context holds just that', () => {
  for (const source of sources) assert.ok(existsSync(join(root, source)), source);
  const kept = read('deploy/docker/Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  assert.deepEqual(kept.sort(), [...sources].sort());
});

test('the build has every source that tsconfig.build.json names', () => {
  const { include } = JSON.parse(read('tsconfig.build.json')) as { include: string[] };
  for (const path of include) assert.ok(sources.includes(path), path);
});

test('the image runs as nobody, without a shell, what the build leaves in it', () => {
  const of = (wanted: string) => lastStage.filter(({ name }) => name === wanted).map(({ rest }) => rest);
  assert.deepEqual(of('USER'), ['65532:65532']);
  assert.deepEqual(of('RUN'), []);
  const [node, ...started] = JSON.parse(of('ENTRYPOINT')[0] ?? '[]');
  assert.equal(node, '/nodejs/bin/node');
  assert.equal(started.at(-1), '/app/bin/mixed-version-proxy');
  assert.deepEqual(of('CMD'), ['["serve"]']);
  // This Node has the flags, and the command runs with them.
  const command = [...started.slice(0, -1), join(root, 'bin/mixed-version-proxy'), 'serve'];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /^error: give --kubeconfig /);
  const copied = of('COPY').flatMap((rest) => words(rest).slice(0, -1));
  assert.deepEqual(copied, [
    '/app/package.json',
    // The Apache License asks for a copy of itself wherever the work goes.
    '/app/LICENSE',
    '/app/node_modules',
    '/app/bin',
    '/app/dist',
  ]);
});

test('nothing in the image belongs to the user that it runs as: no WORKDIR before what is copied', () => {
  // BuildKit gives a directory that WORKDIR makes to the user of the base image; COPY gives its own to root.
  const names = lastStage.map(({ name }) => name);
  assert.ok(names.indexOf('WORKDIR') > names.lastIndexOf('COPY'));
  for (const { name, rest } of lastStage) if (name === 'COPY') assert.doesNotMatch(rest, /--chown/);
});

test('the command can be run by its name, without the env that its first line asks for', () => {
  const [firstLine = ''] = read('bin/mixed-version-proxy').split('\n');
  const edit = instructions.find(({ name, rest }) => name === 'RUN' && rest.startsWith('["sed"'))?.rest ?? '';
  const [, pattern = '', interpreter] = /1s\|(.+)\|(.+)\|/.exec(edit) ?? [];
  assert.equal(firstLine.replace(new RegExp(pattern), interpreter ?? ''), '#!/nodejs/bin/node');
  assert.ok(lastStage.some(({ name, rest }) => name === 'ENV' && rest === 'PATH="/app/bin:$PATH"'));
});

test('nothing that goes into the image is built for one architecture, since the build is not run on each', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { dev?: true; optional?: true; cpu?: string[]; hasInstallScript?: true }>;
  };
  const bound = Object.entries(packages)
    .filter(([, { dev, optional }]) => dev !== true && optional !== true)
    .filter(([, { cpu, hasInstallScript }]) => cpu !== undefined || hasInstallScript === true)
    // A checkout builds itself (`prepare`); the image has that run by hand.
    .filter(([path]) => path !== '');
  assert.deepEqual(bound, []);
});

test('its labels are those of the package', () => {
  const labels = lastStage.find(({ name }) => name === 'LABEL')?.rest ?? '';
  assert.ok(labels.includes(`image.version="${manifest.version}"`), labels);
  assert.ok(labels.includes(`image.licenses="${manifest.license}"`), labels);
});
