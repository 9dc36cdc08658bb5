import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readEdgeConfiguration } from '../../demo/edge/edge-configuration.ts';
import { workerdConfig } from '../../demo/edge/workerd-config.ts';
import { writeWorkerdDirectory } from '../../demo/edge/workerd-directory.ts';
import { generateSigningKey } from '../../src/snapshot/signing/seal.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '..', '..');
const pair = { certificate: 'certificate', privateKey: 'key' };
const pem = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----\n`;

const least = {
  compatibilityDate: '2026-10-20',
  compatibilityFlags: [],
  modules: [{ name: 'index.js', file: 'modules/index.js' }],
  listen: '127.0.0.1:0',
  serving: { privateKey: 'tls/serving.key', certificateChain: 'tls/serving.crt' },
  destinationAuthorities: ['tls/ca.crt'],
  networks: ['private'],
  textBindings: {},
  durableObjects: [],
  storageDirectory: 'storage',
};

test('the example in deploy/ is a configuration', async () => {
  const document = JSON.parse(await readFile(join(root, 'deploy', 'workerd', 'edge.json'), 'utf8'));
  const result = readEdgeConfiguration(document);
  assert.ok(result.ok, JSON.stringify(result));
});

test('no header of a client can become request.cf, and those that the platform vouches for are removed', () => {
  const config = workerdConfig(least);
  assert.doesNotMatch(config, /cfBlobHeader/);
  assert.match(config, /injectRequestHeaders[^\]]*\(name = "CF-Connecting-IP"\)/);
});

test('the front-proxy pair is on the way of PEER_MTLS alone, never on that of fetch', () => {
  const config = workerdConfig({
    ...least,
    frontProxyClient: { privateKey: 'tls/front-proxy.key', certificateChain: 'tls/front-proxy.crt' },
  });
  const services = config.match(/\(name = "(?:outbound|front-proxy)", network.*/g);
  assert.equal(services?.length, 2);
  assert.doesNotMatch(services[0] ?? '', /keypair/);
  assert.match(services[1] ?? '', /keypair/);
  assert.match(config, /\(name = "PEER_MTLS", service = "front-proxy"\)/);
  assert.match(config, /globalOutbound = "outbound"/);
  assert.doesNotMatch(workerdConfig(least), /PEER_MTLS|trustBrowserCas/);
});

test('no value can end its literal in the configuration', () => {
  const config = workerdConfig({ ...least, listen: '"), evil = ("\\' });
  assert.match(config, /address = "\\"\), evil = \(\\"\\\\"/);
  assert.throws(() => workerdConfig({ ...least, listen: 'é' }), /ASCII/);
});

test('keys are readable by their owner only, and those of an earlier configuration are gone', async (context) => {
  const directory = await temporaryDirectory(context);
  const options = {
    directory,
    build: { ...least, modules: [{ name: 'index.js', text: '' }] },
    tls: { serving: pair, destinationAuthorities: `${pem('a')}${pem('b')}` },
    listen: '127.0.0.1:0',
    networks: ['private'],
    environment: { SERVER_ID: 'a', ASSERTION_SIGNING_KEY: 'secret' },
  };
  await writeWorkerdDirectory({ ...options, tls: { ...options.tls, frontProxyClient: pair } });
  await writeFile(join(directory, 'storage', 'kept'), '');
  await writeWorkerdDirectory({ ...options, environment: { SERVER_ID: 'a' } });
  assert.deepEqual((await readdir(join(directory, 'tls'))).sort(), [
    'destination-ca-0.crt',
    'destination-ca-1.crt',
    'serving.crt',
    'serving.key',
  ]);
  assert.deepEqual(await readdir(join(directory, 'environment')), ['SERVER_ID']);
  assert.deepEqual(await readdir(join(directory, 'storage')), ['kept']);
  for (const file of ['workerd.capnp', 'tls/serving.key', 'environment/SERVER_ID']) {
    assert.equal((await stat(join(directory, file))).mode & 0o777, 0o600, file);
  }
});

test('an empty bundle and a name that is a path are refused', async (context) => {
  const directory = await temporaryDirectory(context);
  const options = {
    directory,
    build: { ...least, modules: [] },
    tls: { serving: pair, clientAuthorities: '', destinationAuthorities: pem('a') },
    listen: '127.0.0.1:0',
    networks: ['private'],
    environment: {},
  };
  await assert.rejects(writeWorkerdDirectory(options), /client-ca: holds no PEM certificate/);
  const outside = { ...options, environment: { '../SERVER_ID': 'a' } };
  await assert.rejects(writeWorkerdDirectory(outside), /is no name of a variable/);
});

test('every file that cannot be used, and every variable, is told at once, before workerd is started', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'edge.json');
  const file = (name: string) => join(directory, name);
  const run = () => {
    const args = [join(root, 'demo/edge/run-edge.ts'), '--config', path];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 });
    return { status, lines: stderr.trimEnd().split('\n') };
  };
  const configuration = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'EdgeConfiguration',
    listen: '127.0.0.1:0',
    tls: { certFile: file('tls.crt'), keyFile: file('tls.key') },
    destinations: { caFile: file('ca.crt') },
    stateDirectory: file('state'),
    environment: { SERVER_ID: 'a' },
    environmentFiles: { SNAPSHOT_KEYS: file('keys.json') },
  };
  await writeFile(path, JSON.stringify(configuration));
  const missing = run();
  assert.deepEqual(
    missing.lines.map((line) => line.replace(`${path}: `, '').split(' ')[0]),
    [
      'environmentFiles.SNAPSHOT_KEYS',
      'destinations.caFile',
      'tls.certFile',
      'tls.keyFile',
      'LOCAL_SERVER',
      'stateDirectory',
    ],
  );
  assert.equal(missing.status, 2);

  const { publicJwk } = await generateSigningKey('EdDSA');
  await writeFile(file('keys.json'), JSON.stringify({ keys: [publicJwk] }));
  for (const name of ['tls.crt', 'tls.key', 'ca.crt']) await writeFile(file(name), 'hunter2');
  const environment = { SERVER_ID: 'a', LOCAL_SERVER: 'https://127.0.0.1:6443' };
  await writeFile(path, JSON.stringify({ ...configuration, environment, stateDirectory: directory }));
  const unusable = run();
  assert.equal(unusable.status, 2);
  assert.deepEqual(unusable.lines, [
    `${path}: tls cannot be used: ${file('tls.crt')} holds no PEM certificate`,
    `${path}: destinations.caFile cannot be used: ${file('ca.crt')} holds no PEM certificate`,
  ]);
});

test('a faulty configuration ends the command with 2 and every fault, and shows nothing of the file', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'edge.json');
  const run = () =>
    spawnSync(process.execPath, [join(root, 'demo/edge/run-edge.ts'), '--config', path], {
      encoding: 'utf8',
      timeout: 120_000,
    });
  await writeFile(path, JSON.stringify({ kind: 'EdgeConfiguration', listen: 6443 }));
  const faulty = run();
  assert.equal(faulty.status, 2, faulty.stderr);
  for (const field of ['apiVersion', 'listen', 'tls', 'destinations', 'stateDirectory']) {
    assert.match(faulty.stderr, new RegExp(`edge.json: ${field} `));
  }
  await writeFile(path, '-----BEGIN PRIVATE KEY-----');
  const noJson = run();
  assert.equal(noJson.status, 2);
  assert.doesNotMatch(noJson.stderr, /PRIVATE/);
});
