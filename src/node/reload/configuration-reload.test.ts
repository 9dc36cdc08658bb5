import assert from 'node:assert/strict';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { assertionKeysFile, janesRequest, speaker } from '../../../test/support/assertions.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { type StartedRouter, startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp1, askOverHttp2, openHttp1, openHttp2 } from '../../../test/support/tls-client.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { generateSigningKey, signingKeyOf } from '../../snapshot/signing/signing-key.ts';

const pods = '/api/v1/pods';
const own = '/.mixed-version-proxy/v1';

interface Status {
  readonly serverId: string | null;
  readonly keyFiles: readonly {
    readonly name: string;
    readonly path: string;
    readonly lastError: string | null;
  }[];
  readonly needsRestart: readonly { readonly flag: string; readonly inUse: string }[];
  readonly warnings: readonly string[];
  readonly preferredVersion: { readonly configured: string };
}

/** Asks as a user of the group that may use the router's own paths, on a connection of its own. */
async function askAsAdmin(context: TestContext, router: StartedRouter, target: string, body?: string) {
  const pair = await router.user('admin', ['system:masters']);
  const session = openHttp2(context, { ...clientOf(router), pair });
  return askOverHttp2(session, target, body === undefined ? {} : { method: 'PUT', body });
}

async function statusOf(context: TestContext, router: StartedRouter): Promise<Status> {
  return JSON.parse((await askAsAdmin(context, router, `${own}/status`)).text);
}

function clientOf({ port, authorities }: StartedRouter) {
  return { port, ca: authorities.cluster.certificate };
}

function errorsOf({ logs }: StartedRouter): string[] {
  return logs.filter(({ level }) => level === 'error').map(({ fields }) => String(fields['error']));
}

describe('a configuration file that changes while the router runs', () => {
  it('takes what can change into use at once, and leaves open connections alone', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, applied } = started;
    const pair = await started.user('operator');
    const session = openHttp2(context, { ...clientOf(started), pair });
    assert.equal((await askOverHttp2(session, `${own}/status`)).status, 403);

    await configure({
      ownPaths: { allowedUsers: ['operator'] },
      routing: { preferredVersion: 'newest' },
      limits: { requestsInFlight: 11, connections: 50, goawayChance: 0.01 },
      timeouts: { request: '30s', dial: '1s', responseHeader: '10s' },
      extensionRouting: 'extension',
      localServer: { downPolicy: 'unavailable' },
      logging: { verbosity: 4 },
    });
    await router.reload();
    assert.equal(applied.length, 1);
    assert.equal(applied[0]?.logging.verbosity, 4);

    const answer = await askOverHttp2(session, `${own}/status`);
    assert.equal(answer.status, 200);
    const status: Status = JSON.parse(answer.text);
    assert.equal(status.preferredVersion.configured, 'newest');
    assert.deepEqual(status.warnings, []);
    const metrics = await askAsAdmin(context, started, '/.mixed-version-proxy/metrics');
    assert.match(metrics.text, /^mixed_version_proxy_settings_needing_restart 0$/m);
    assert.match(
      metrics.text,
      /credential_file_reload_failed\{flag="--config",path="[^"]+router\.yaml"\} 0$/m,
    );
  });

  it('is taken where the snapshot has the local server under another ID than the configuration', async (context) => {
    const flags = { 'allow-loopback-peers': ['true'] };
    const started = await startRouterWithFiles(context, { configuration: {}, flags });
    const { router, configure, snapshotKey, apiServer } = started;
    const snapshot = snapshotOf({
      'apiserver-a': { address: `127.0.0.1:${apiServer.port}`, serves: ['v1/pods'] },
    });
    const sealed = await sealSnapshot(snapshot, signingKeyOf(snapshotKey.privateJwk));
    assert.equal((await askAsAdmin(context, started, `${own}/snapshot`, sealed)).status, 200);
    await configure({ routing: { preferredVersion: 'newest' } });
    await router.reload();
    assert.deepEqual(errorsOf(started), []);
    const { serverId, preferredVersion } = await statusOf(context, started);
    assert.deepEqual([serverId, preferredVersion.configured], ['apiserver-a', 'newest']);
  });

  it('is told by the history at once where it prefers another version', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, snapshotKey } = started;
    const snapshot = snapshotOf({
      'cp-a': { version: 'v1.35.0', serves: ['v1/pods'], schemas: {} },
      'cp-b': { version: 'v1.36.0', serves: ['v1/pods', 'batch/v1/jobs'] },
    });
    const sealed = await sealSnapshot(snapshot, signingKeyOf(snapshotKey.privateJwk));
    assert.equal((await askAsAdmin(context, started, `${own}/snapshot`, sealed)).status, 200);
    await configure({ routing: { preferredVersion: 'oldest' } });
    await router.reload();
    const { timeline } = JSON.parse((await askAsAdmin(context, started, `${own}/history`)).text);
    const { event, from, to } = timeline[0];
    assert.deepEqual([event, from, to], ['PreferredVersionChanged', '1.36', '1.35']);
  });

  it('with an error changes nothing, says every error once, and shows it until it is mended', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: { logging: { verbosity: 1 } } });
    const { router, configure, applied, path } = started;
    await configure({
      ownPaths: { allowedUsers: ['eve'] },
      serving: { prot: 1 },
      limits: { goawayChance: 'x' },
    });
    await router.reload();
    await router.reload();
    assert.deepEqual(applied, []);
    const [error, ...others] = errorsOf(started);
    assert.deepEqual(others, []);
    assert.match(
      error ?? '',
      /router\.yaml:\d+:\d+: serving\.prot is no key.*router\.yaml:\d+:\d+: limits\.goawayChance/,
    );

    const eve = openHttp2(context, { ...clientOf(started), pair: await started.user('eve') });
    assert.equal((await askOverHttp2(eve, `${own}/status`)).status, 403);
    const status = await statusOf(context, started);
    const file = status.keyFiles.find(({ name }) => name === 'config');
    assert.equal(file?.path, path('router.yaml'));
    assert.equal(file?.lastError, error);
    assert.match(status.warnings.join(), /--config: .*was not reloaded/);
    const ready = await askOverHttp2(eve, '/readyz?verbose');
    assert.match(ready.text, /^\[\+\]files ok\nwarn: files: a file is not in use as it is now/m);
    assert.doesNotMatch(ready.text, /router\.yaml|serving/);

    await configure({ ownPaths: { allowedUsers: ['eve'] } });
    await router.reload();
    assert.equal((await askOverHttp2(eve, `${own}/status`)).status, 200);
    assert.deepEqual((await statusOf(context, started)).warnings, []);
  });

  it('names what needs a restart, once, until it is changed back', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: { metrics: { enabled: true } } });
    const { router, configure, logs } = started;
    const warnings = () => logs.filter(({ message }) => message.includes('need a restart'));
    await configure({ metrics: { enabled: false }, logging: { verbosity: 2 } });
    await router.reload();
    await configure({ metrics: { enabled: false }, logging: { verbosity: 3 } });
    await router.reload();
    assert.equal(warnings().length, 1);
    assert.match(JSON.stringify(warnings()), /--enable-metrics.*metrics\.enabled.*"true".*"false"/);
    assert.equal(started.applied.at(-1)?.logging.verbosity, 3);
    const status = await statusOf(context, started);
    assert.deepEqual(
      status.needsRestart.map(({ flag, inUse }) => [flag, inUse]),
      [['--enable-metrics', 'true']],
    );
    assert.match(status.warnings.join(), /--enable-metrics \(metrics\.enabled\) needs a restart/);
    assert.match(
      (await askAsAdmin(context, started, '/readyz?verbose')).text,
      /changed settings need a restart/,
    );
    assert.match(
      (await askAsAdmin(context, started, '/.mixed-version-proxy/metrics')).text,
      /^mixed_version_proxy_settings_needing_restart 1$/m,
    );

    await configure({ metrics: { enabled: true } });
    await router.reload();
    const mended = await statusOf(context, started);
    assert.deepEqual([mended.needsRestart, mended.warnings], [[], []]);
  });

  it('takes other files into use, and looks after those from then on', async (context) => {
    const authentication = (clientCAFile: string) => ({
      authentication: { clientCAFile },
      snapshot: { keysFile: 'keys-2.json' },
    });
    const started = await startRouterWithFiles(context, {
      withoutFlags: ['client-ca-file', 'snapshot-keys'],
      configuration: { authentication: { clientCAFile: 'ca.crt' }, snapshot: { keysFile: 'keys.json' } },
    });
    const { router, configure, write } = started;
    const next = await createAuthority('next');
    const newcomer = {
      ...clientOf(started),
      pair: await next.issue({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' }),
    };
    assert.equal((await askOverHttp2(openHttp2(context, newcomer), `${own}/status`)).status, 401);

    const key = await generateSigningKey('EdDSA');
    await write('keys-2.json', JSON.stringify({ keys: [key.publicJwk] }));
    await write('next-ca.crt', next.certificate);
    await configure(authentication('next-ca.crt'));
    await router.reload();
    const session = openHttp2(context, newcomer);
    assert.equal((await askOverHttp2(session, `${own}/status`)).status, 200);
    const snapshot = await sealSnapshot(snapshotOf({ 'cp-a': ['v1/pods'] }), signingKeyOf(key.privateJwk));
    const push = { method: 'PUT', body: snapshot };
    assert.equal((await askOverHttp2(session, `${own}/snapshot`, push)).status, 200);

    // The files of now are watched, those of before are not.
    await write('next-ca.crt', started.authorities.cluster.certificate);
    await write('ca.crt', 'nothing');
    await router.reload();
    assert.equal((await askOverHttp2(session, `${own}/status`)).status, 401);
    assert.deepEqual(errorsOf(started), []);
  });

  it('is noticed behind the symbolic link of a ConfigMap that is swapped', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, path, applied } = started;
    const document = { apiVersion: 'mixed-version-proxy/v1alpha1', kind: 'RouterConfiguration' };
    for (const [folder, verbosity] of [
      ['..1', 1],
      ['..2', 2],
    ] as const) {
      await mkdir(path(folder));
      await writeFile(path(`${folder}/router.yaml`), JSON.stringify({ ...document, logging: { verbosity } }));
      await symlink(folder, path('..data.new'));
      await rename(path('..data.new'), path('..data'));
      if (folder === '..1') {
        await symlink('..data/router.yaml', path('router.yaml.new'));
        await rename(path('router.yaml.new'), path('router.yaml'));
      }
      await router.reload();
      assert.equal(applied.at(-1)?.logging.verbosity, verbosity);
    }
  });
});

describe('--assertion-keys that change while the router runs', () => {
  it('and a configuration that changes forget no assertion that was used', async (context) => {
    const edge = await speaker('edge');
    const started = await startRouterWithFiles(context, {
      files: { 'assertion-keys.json': assertionKeysFile([edge]) },
      fileFlags: { 'assertion-keys': 'assertion-keys.json' },
      configuration: {},
    });
    const { router, write, configure, applied, port, authorities } = started;
    const request = { ...janesRequest, destinationId: 'cp-a', target: pods, rerouted: false };
    const { text } = await createAssertionSigner({ key: edge.key, issuer: 'edge' }).sign(request);
    const replay = async () => {
      const socket = await openHttp1(context, { port, ca: authorities.cluster.certificate });
      return (await askOverHttp1(socket, pods, [`Mixed-Version-Proxy-Identity: ${text}`])).status;
    };
    assert.equal(await replay(), 200);
    await configure({ ownPaths: { allowedUsers: ['alice'] } });
    await router.reload();
    assert.equal(applied.length, 1);
    assert.equal(await replay(), 401);
    await write('assertion-keys.json', assertionKeysFile([edge, await speaker('other')]));
    await router.reload();
    assert.equal(await replay(), 401);
  });

  it('have the next assertion of a key that is gone refused, and that of a new one believed', async (context) => {
    const [edge, other] = [await speaker('edge'), await speaker('other')];
    const started = await startRouterWithFiles(context, {
      files: { 'assertion-keys.json': assertionKeysFile([edge]) },
      fileFlags: { 'assertion-keys': 'assertion-keys.json' },
    });
    const { router, write, port, authorities } = started;
    const ask = async ({ key, issuer }: typeof edge) => {
      const request = { ...janesRequest, destinationId: 'cp-a', target: pods, rerouted: false };
      const { text } = await createAssertionSigner({ key, issuer }).sign(request);
      const socket = await openHttp1(context, { port, ca: authorities.cluster.certificate });
      return (await askOverHttp1(socket, pods, [`Mixed-Version-Proxy-Identity: ${text}`])).status;
    };
    assert.deepEqual([await ask(edge), await ask(other)], [200, 401]);
    await write('assertion-keys.json', assertionKeysFile([other]));
    await router.reload();
    assert.deepEqual([await ask(edge), await ask(other)], [401, 200]);
    await write('assertion-keys.json', '{"keys": [{}]}');
    await router.reload();
    assert.deepEqual([await ask(edge), await ask(other)], [401, 200]);
    assert.match(errorsOf(started).join(), /--assertion-keys: .*assertion-keys\.json/);
  });
});
