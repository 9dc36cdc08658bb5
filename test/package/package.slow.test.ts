import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createDemoCertificates } from '../../demo/certificates.ts';
import { type MadePackage, makePackage, root } from '../../scripts/package/make-package.ts';
import { askOverHttps } from '../../src/node/destinations/https-client.ts';
import { startChild } from '../support/commands/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { waitUntil } from '../support/wait-until.ts';
import { unpack } from './unpack.ts';

const tool = (path: string) => join(root, 'node_modules', path);

describe('the published package', () => {
  let out: string;
  let consumer: string;
  let made: MadePackage;
  before(async () => {
    out = mkdtempSync(join(tmpdir(), 'package-'));
    made = await makePackage(out);
    consumer = join(out, 'consumer');
    const modules = join(consumer, 'node_modules');
    unpack(made.tarball, join(modules, made.manifest.name));
    // Only what it declares, so that a dependency that it lacks is not found here either; and Node's types, which
    // whoever uses `./node` has.
    const { dependencies, peerDependencies = {} } = made.manifest;
    for (const name of [...Object.keys(dependencies), ...Object.keys(peerDependencies), '@types/node']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(tool(name), join(modules, name));
    }
    writeFileSync(join(consumer, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    writeFileSync(join(consumer, 'program.ts'), program);
  });
  after(() => rmSync(out, { recursive: true, force: true }));

  const run = (script: string, args: readonly string[], cwd = consumer) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
      cwd,
      encoding: 'utf8',
    });
    return { status, output: `${stdout}${stderr}` };
  };

  test('brings no runtime and no install script to those who depend on it', () => {
    for (const field of ['optionalDependencies', 'devDependencies', 'scripts', 'private', 'workspaces']) {
      assert.equal(field in made.manifest, false, field);
    }
  });

  test('has the changes with it, for whoever upgrades', () => {
    assert.ok(existsSync(join(consumer, 'node_modules', made.manifest.name, 'CHANGELOG.md')));
  });

  test('has a lock file, so that an installation has what was tested', () => {
    const { packages } = JSON.parse(
      readFileSync(join(consumer, 'node_modules', made.manifest.name, 'npm-shrinkwrap.json'), 'utf8'),
    ) as {
      readonly packages: Readonly<Record<string, { readonly integrity?: string; readonly dev?: true }>>;
    };
    for (const name of Object.keys(made.manifest.dependencies)) {
      assert.ok(`node_modules/${name}` in packages, name);
    }
    for (const [path, { integrity, dev }] of Object.entries(packages)) {
      if (path !== '') assert.deepEqual([typeof integrity, dev], ['string', undefined], path);
    }
  });

  test('names as peers what its types show of others, so that a program has one of each, and pins no other', () => {
    assert.deepEqual(Object.keys(made.manifest.peerDependencies ?? {}), ['hono', 'jose']);
    const lock = readFileSync(
      join(consumer, 'node_modules', made.manifest.name, 'npm-shrinkwrap.json'),
      'utf8',
    );
    const { packages } = JSON.parse(lock) as { readonly packages: Readonly<Record<string, unknown>> };
    for (const peer of ['hono', 'jose']) assert.equal(`node_modules/${peer}` in packages, false, peer);
  });

  test('has an exports map that publint finds nothing wrong with', () => {
    const { status, output } = run(tool('publint/src/cli.js'), [made.directory, '--strict', '--pack=false']);
    assert.equal(status, 0, output);
  });

  test('has types that every resolver of ECMAScript modules finds', () => {
    const { status, output } = run(tool('@arethetypeswrong/cli/dist/index.js'), [
      made.tarball,
      '--profile=esm-only',
      '--no-emoji',
    ]);
    assert.equal(status, 0, output);
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    test(`is type-checked in a consumer's program with moduleResolution ${moduleResolution}`, () => {
      const { status, output } = run(tool('typescript/bin/tsc'), [
        ...['--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024', '--types', 'node'],
        ...['--module', module, '--moduleResolution', moduleResolution, '--skipLibCheck', 'program.ts'],
      ]);
      assert.equal(status, 0, output);
    });
  }

  test("runs in a consumer's program", () => {
    const { status, output } = run(join(consumer, 'program.ts'), []);
    assert.equal(status, 0, output);
    assert.equal(output, 'list jobs, 503, function function function function function\n');
  });

  test('has a command that starts from where it is installed', () => {
    const launcher = join(consumer, 'node_modules', made.manifest.name, 'bin/mixed-version-proxy');
    assert.deepEqual(run(launcher, ['--version']), { status: 0, output: `v${made.manifest.version}\n` });
  });

  for (const protocol of ['h2', 'http/1.1']) {
    test(`serves, from the bundle, what a server of ${protocol} responds`, async () => {
      const { router, apiServer, clusterCa } = await createDemoCertificates(join(out, protocol));
      const pair = { key: readFileSync(apiServer.privateKey), cert: readFileSync(apiServer.certificate) };
      const respond = (
        request: { readonly httpVersion: string },
        response: { end(text: string): unknown },
      ): unknown => response.end(`HTTP/${request.httpVersion}`);
      const server = protocol === 'h2' ? createSecureServer(pair, respond) : createServer(pair, respond);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const port = await freePort();
      const child = await startChild({
        executable: process.execPath,
        arguments: [
          join(consumer, 'node_modules', made.manifest.name, 'bin/mixed-version-proxy'),
          ...['serve', '--server-id=a', '--feature-gates=UnknownVersionInteroperabilityProxy=false'],
          ...[`--local-server=https://127.0.0.1:${(server.address() as AddressInfo).port}`],
          ...[`--local-server-ca-file=${clusterCa}`, `--tls-cert-file=${router.certificate}`],
          ...[`--tls-private-key-file=${router.privateKey}`, `--secure-port=${port}`],
        ],
      });
      try {
        const ca = readFileSync(clusterCa, 'utf8');
        const ask = (path: string) =>
          askOverHttps({
            origin: `https://127.0.0.1:${port}`,
            path,
            certificateAuthorities: ca,
            headers: [],
            responseTimeout: 5_000,
            longestResponse: 1_000,
          });
        await waitUntil('the router serves', () =>
          ask('/livez').then(
            () => true,
            () => false,
          ),
        );
        const { text } = await ask('/api/v1/pods');
        assert.equal(text, protocol === 'h2' ? 'HTTP/2.0' : 'HTTP/1.1', child.errors());
      } finally {
        await child.stop();
        server.close();
      }
    });
  }
});

/** Uses every entry point, as somebody would who depends on the package. */
const program = `
import { type Transport, TransportError, createApp, parseRequestInfo } from 'mixed-version-proxy';
import { startRouter } from 'mixed-version-proxy/node';
import { runSync, snapshotFromFolder, syncOnce } from 'mixed-version-proxy/sync';
import worker, { SnapshotObject } from 'mixed-version-proxy/worker';
import { createAddressPolicy, SnapshotReceiver } from 'mixed-version-proxy';

const { verb, resource } = parseRequestInfo('GET', '/apis/batch/v1/jobs');
const nothingThere: Transport = {
  async send() {
    throw new TransportError('ConnectFailed', 'nothing listens', { mayHaveBeenProcessed: false });
  },
};
const quiet = () => {};
const app = createApp({
  local: {
    kind: 'local',
    id: 'a',
    origin: 'https://127.0.0.1:6444',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  },
  routingTable: new SnapshotReceiver({
    keys: () => new Map(),
    addressPolicy: createAddressPolicy({}),
  }),
  transport: nothingThere,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
});
const { status } = await app.fetch(new Request('https://router.example/apis/batch/v1/jobs'));
const loaded = [startRouter, runSync, snapshotFromFolder, syncOnce, worker.fetch].map((each) => typeof each).join(' ');
if (typeof SnapshotObject !== 'function') throw new Error('SnapshotObject');
console.log(\`\${verb} \${resource}, \${status}, \${loaded}\`);
`;
