import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testApp, userConnection } from '../../test/support/test-app.ts';

const startedAt = Date.UTC(2026, 0, 31, 12);
const { app } = await testApp({
  connection: userConnection('prometheus', ['system:monitoring']),
  clock: () => startedAt + 3_725_000,
  processFacts: {
    version: 'v1.2.3',
    nodeVersion: 'v26.1.0',
    startedAt,
    configHash: 'sha256:abc',
    flags: { 'bind-address': '0.0.0.0', v: '4' },
  },
});

async function get(path: string, accept?: string) {
  const response = await app.request(
    `https://router${path}`,
    accept === undefined ? {} : { headers: { accept } },
  );
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

test('/statusz is text for people unless JSON is asked for', async () => {
  for (const accept of [undefined, '*/*', 'text/plain']) {
    const { status, type, text } = await get('/.mixed-version-proxy/statusz', accept);
    assert.equal(status, 200);
    assert.equal(type, 'text/plain; charset=utf-8');
    assert.match(text, /^mixed-version-proxy statusz\n/);
    assert.match(text, /\nStarted: 2026-01-31T12:00:00\.000Z\nUp: 1 h 2 min 5 s\nBinary version: v1\.2\.3\n/);
    assert.match(text, /\nConfig hash: sha256:abc\n/);
  }
});

test("/statusz is Kubernetes' kind in the version that is asked for", async () => {
  for (const [accept, version] of [
    ['application/json', 'v1beta1'],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz', 'v1beta1'],
    ['application/json;v=v1alpha1;g=config.k8s.io;as=Statusz', 'v1alpha1'],
  ] as const) {
    const { type, text } = await get('/.mixed-version-proxy/statusz', accept);
    assert.equal(type, 'application/json');
    assert.deepEqual(JSON.parse(text), {
      kind: 'Statusz',
      apiVersion: `config.k8s.io/${version}`,
      metadata: { name: 'mixed-version-proxy' },
      startTime: '2026-01-31T12:00:00.000Z',
      uptimeSeconds: 3725,
      binaryVersion: 'v1.2.3',
      nodeVersion: 'v26.1.0',
      configHash: 'sha256:abc',
      paths: [
        '/.mixed-version-proxy/flagz',
        '/.mixed-version-proxy/metrics',
        '/.mixed-version-proxy/metrics/slis',
        '/healthz',
        '/livez',
        '/readyz',
      ],
    });
  }
});

test('/flagz lists every flag with its value, one a line', async () => {
  assert.match((await get('/.mixed-version-proxy/flagz')).text, /\n\nbind-address=0\.0\.0\.0\nv=4\n$/);
  const { text } = await get(
    '/.mixed-version-proxy/flagz',
    'application/json;v=v1beta1;g=config.k8s.io;as=Flagz',
  );
  assert.deepEqual(JSON.parse(text).flags, { 'bind-address': '0.0.0.0', v: '4' });
});

test('/flagz has a server ID that was found as the snapshot in use has it, and one that was given as it was given', async () => {
  const processFacts = {
    ...{ version: 'v1.2.3', nodeVersion: 'v26.1.0', startedAt, configHash: 'sha256:abc' },
    flags: { 'server-id': 'endpoint-10-0-0-1-6443', v: '4' },
  };
  const flagsWith = async (flag: string) => {
    const found = [{ flag, value: 'endpoint-10-0-0-1-6443', source: 'endpoint 10.0.0.1:6443' }];
    const settings = { needsRestart: () => [], found: () => found };
    const connection = userConnection('prometheus', ['system:monitoring']);
    const { app } = await testApp({ connection, processFacts, settings, serverId: 'apiserver-a' });
    const headers = { accept: 'application/json' };
    const response = await app.request('https://router/.mixed-version-proxy/flagz', { headers });
    return JSON.parse(await response.text()).flags;
  };
  assert.deepEqual(await flagsWith('--server-id'), { 'server-id': 'apiserver-a', v: '4' });
  assert.deepEqual(await flagsWith('--local-server'), processFacts.flags);
});

test('a form that there is not is 406, also the kind of the other page', async () => {
  assert.equal((await get('/.mixed-version-proxy/flagz', 'application/yaml')).status, 406);
  assert.equal(
    (await get('/.mixed-version-proxy/flagz', 'application/json;v=v1;g=config.k8s.io;as=Flagz')).status,
    406,
  );
  assert.equal(
    (await get('/.mixed-version-proxy/flagz', 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz'))
      .status,
    406,
  );
});
