import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import type { SyncStatus } from '../../sync/sync-loop.ts';
import {
  createSyncMetrics,
  type ProcessEndpointsOptions,
  startProcessEndpoints,
} from './process-endpoints.ts';

const now = Date.UTC(2026, 0, 31, 12);

/** A sync job in good health. */
const healthy: SyncStatus = {
  generation: 42,
  lastRoundAt: now - 1000,
  lastReadAt: now - 1000,
  servers: [
    { id: 'a', state: 'ready', failure: undefined },
    { id: 'b', state: 'unreachable', failure: 'connection refused' },
  ],
  warnings: [],
  refusedAddresses: [],
  targets: [
    {
      target: 'https://10.0.0.1:7443',
      heldGeneration: 42,
      lastResult: { kind: 'accepted' },
      failures: 0,
      lastAcceptedAt: now - 2000,
    },
    {
      target: 'https://10.0.0.2:7443',
      heldGeneration: undefined,
      lastResult: { kind: 'unreachable', message: 'connection refused' },
      failures: 3,
      lastAcceptedAt: undefined,
    },
  ],
};

async function endpoints(
  context: TestContext,
  status: SyncStatus | undefined,
  options: Partial<ProcessEndpointsOptions> = {},
) {
  const metrics = createSyncMetrics();
  const { origin, close } = await startProcessEndpoints({
    port: 0,
    metrics,
    status: () => status,
    now: () => now,
    ...options,
  });
  context.after(close);
  const get = async (path: string) => {
    const { statusCode, headers, body } = await request(`${origin}${path}`);
    return { status: statusCode, type: headers['content-type'], body: await body.text() };
  };
  return { origin, metrics, get };
}

test('a sync job that works is alive and ready, and one router that is down does not change that', async (context) => {
  const { get } = await endpoints(context, healthy);
  assert.deepEqual((await get('/livez')).body, 'ok');
  assert.deepEqual(
    (await get('/readyz?verbose')).body,
    '[+]ping ok\n[+]rounds ok\n[+]servers ok\n[+]deliveries ok\nreadyz check passed\n',
  );
});

const [held, missed] = healthy.targets;
const unhealthy: readonly (readonly [what: string, status: SyncStatus | undefined, failing: string])[] = [
  ['before its first round', undefined, 'rounds'],
  ['whose rounds have stopped', { ...healthy, lastRoundAt: now - 60_000 }, 'rounds'],
  [
    'that can read no server',
    { ...healthy, servers: healthy.servers.map((server) => ({ ...server, state: 'unreachable' as const })) },
    'servers',
  ],
  [
    'whose snapshot no target has',
    { ...healthy, targets: missed === undefined ? [] : [missed] },
    'deliveries',
  ],
];
for (const [what, status, failing] of unhealthy) {
  test(`a sync job ${what} is alive and not ready`, async (context) => {
    const { get } = await endpoints(context, status);
    assert.equal((await get('/livez')).status, 200);
    const { status: code, body } = await get('/readyz');
    assert.equal(code, 500);
    assert.match(body, new RegExp(`\\[-\\]${failing} failed: reason withheld`));
    assert.equal((await get(`/readyz/${failing}`)).status, 500);
    assert.equal((await get('/readyz/ping')).status, 200);
  });
}

test('a sync job whose snapshot no target holds is not ready, and a check can be excluded', async (context) => {
  const { target, ...rest } = held ?? missed ?? assert.fail();
  const idle = {
    ...healthy,
    generation: undefined,
    targets: [{ ...rest, target, heldGeneration: undefined }],
  };
  assert.equal((await (await endpoints(context, idle)).get('/readyz')).status, 500);
  const { get } = await endpoints(context, { ...healthy, lastRoundAt: undefined });
  assert.equal((await get('/readyz?exclude=rounds')).status, 200);
});

test('metrics have generation, servers by state, reads and deliveries', async (context) => {
  const { get, metrics } = await endpoints(context, healthy);
  metrics.serverRead({ seconds: 0.03, result: 'success' });
  metrics.serverRead({ seconds: 15, result: 'failure' });
  metrics.delivered({ target: 'https://10.0.0.1:7443', seconds: 0.1, result: 'accepted' });
  metrics.delivered({ target: 'https://10.0.0.2:7443', seconds: 1, result: 'unreachable' });
  const { type, body } = await get('/metrics');
  assert.match(type?.toString() ?? '', /^text\/plain; version=0\.0\.4/);
  // A target that has never taken anything counts from the start: its alert would have nothing to compare else.
  const [, never] = /timestamp_seconds\{target="https:\/\/10\.0\.0\.2:7443"\} (\S+)/.exec(body) ?? [];
  assert.ok(Math.abs(Number(never) - Date.now() / 1000) < 60, `${never}`);
  for (const line of [
    'mixed_version_proxy_sync_generation 42',
    'mixed_version_proxy_sync_servers{state="ready"} 1',
    'mixed_version_proxy_sync_servers{state="unreachable"} 1',
    'mixed_version_proxy_sync_servers{state="untried"} 0',
    `mixed_version_proxy_sync_last_round_timestamp_seconds ${now / 1000 - 1}`,
    `mixed_version_proxy_sync_last_successful_delivery_timestamp_seconds{target="https://10.0.0.1:7443"} ${now / 1000 - 2}`,
    'mixed_version_proxy_sync_read_duration_seconds_count{result="success"} 1',
    'mixed_version_proxy_sync_read_duration_seconds_bucket{result="success",le="0.05"} 1',
    'mixed_version_proxy_sync_read_duration_seconds_sum{result="failure"} 15',
    'mixed_version_proxy_sync_deliveries_total{target="https://10.0.0.1:7443",result="accepted"} 1',
    'mixed_version_proxy_sync_deliveries_total{target="https://10.0.0.2:7443",result="unreachable"} 1',
    'mixed_version_proxy_sync_delivery_duration_seconds_count{target="https://10.0.0.2:7443"} 1',
  ]) {
    assert.ok(body.split('\n').includes(line), `${line}\n${body}`);
  }
  // Kubernetes' convention: how far a metric can be relied on stands in its help.
  for (const help of body.split('\n').filter((line) => line.startsWith('# HELP mixed_version_proxy_'))) {
    assert.match(help, / \[ALPHA\] /);
  }
});

test('metrics are compressed for a monitor that takes gzip', async (context) => {
  const { origin, get } = await endpoints(context, healthy);
  const { headers, body } = await request(`${origin}/metrics`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.equal(headers['vary'], 'Accept-Encoding');
  const compressed = await body.bytes();
  const plain = (await get('/metrics')).body;
  assert.ok(compressed.length < plain.length / 2);
  assert.match(
    gunzipSync(new Uint8Array(compressed)).toString(),
    /^mixed_version_proxy_sync_generation 42$/m,
  );
});

test('anything else is a 404', async (context) => {
  const { get } = await endpoints(context, healthy);
  const unknown = await get('/.mixed-version-proxy/v1/snapshot');
  assert.deepEqual([unknown.status, JSON.parse(unknown.body).reason], [404, 'NotFound']);
});

test('a port in use is an error that names it', async (context) => {
  const { origin } = await endpoints(context, healthy);
  const port = Number(new URL(origin).port);
  await assert.rejects(endpoints(context, healthy, { port }), new RegExp(`:${port} is in use`));
});
