import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { recordingTransport } from '../../test/support/recording-transport.ts';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshot-builder.ts';
import { testApp } from '../../test/support/test-app.ts';
import type { APIGroupDiscovery } from '../apimachinery/discovery-types.ts';
import type { StalePolicy } from './decision.ts';

const group = (name: string, resource: string): APIGroupDiscovery => ({
  metadata: { name },
  versions: [
    {
      version: 'v1',
      resources: [{ resource, scope: 'Namespaced', responseKind: { kind: resource }, verbs: ['list'] }],
      freshness: 'Current',
    },
  ],
});
const apps = group('apps', 'deployments');
const snapshot = snapshotOf({
  local: {
    serves: ['apps/v1/deployments'],
    discovery: [apps],
    openapiV3: { 'apis/apps/v1': '/openapi/v3/apis/apps/v1?hash=A' },
  },
  peer: {
    // Neither its own address nor that of its router says that it can still be reached.
    advertised: { address: '192.0.2.7:7443', by: 'peer-advertise-ip' },
    serves: ['apps/v1/deployments', 'batch/v1/jobs'],
    discovery: [apps, group('batch', 'jobs')],
    openapiV3: {
      'apis/apps/v1': '/openapi/v3/apis/apps/v1?hash=A',
      'apis/batch/v1': '/openapi/v3/apis/batch/v1?hash=B',
    },
  },
});
const expiredAt = Date.parse(snapshot.metadata.createdAt) + snapshot.metadata.lifetimeSeconds * 1000;

/** The same, made while no server could be read: then it is their addresses alone that say who can be reached. */
const unread = { ...snapshot, servers: snapshot.servers.map((server) => ({ ...server, stale: true })) };

const jobsOf = (version: string, hash: string): ServerOptions => ({
  version,
  serves: ['batch/v1/jobs'],
  schemas: { 'batch.jobs': { v1: btoa(`jobs-${hash}`) } },
  openapiV3: { 'apis/batch/v1': `/openapi/v3/apis/batch/v1?hash=${hash}` },
});
const threeVersions = snapshotOf({
  local: { version: 'v1.34.1', serves: ['apps/v1/deployments'], discovery: [apps], openapiV3: {} },
  older: jobsOf('v1.35.0', '135'),
  other: jobsOf('v1.35.0', '135'),
  newer: jobsOf('v1.36.0', '136'),
});

async function router(stalePolicy: StalePolicy | undefined, held = snapshot) {
  const { app, transport } = await testApp({
    snapshot: held,
    clock: () => expiredAt,
    transport: recordingTransport(({ destination }) => new Response(destination.id, { status: 404 })),
    ...(stalePolicy === undefined ? {} : { stalePolicy }),
  });
  const request = (path: string, accept = '*/*') =>
    app.request(`https://router.example${path}`, { headers: { accept } });
  return { request, transport };
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

async function freshness(
  stalePolicy: StalePolicy | undefined,
  held = snapshot,
): Promise<Record<string, string | undefined>> {
  const { request } = await router(stalePolicy, held);
  const { items } = (await (await request('/apis', aggregated)).json()) as { items: APIGroupDiscovery[] };
  return Object.fromEntries(items.map(({ metadata, versions }) => [metadata.name, versions?.[0]?.freshness]));
}

describe('merged documents past the lifetime of the snapshot', () => {
  test('by default they stay as they are', async () => {
    assert.deepEqual(await freshness(undefined), { apps: 'Current', batch: 'Current' });
  });

  for (const policy of ['local', 'unavailable'] as const) {
    test(`policy ${policy}: the groups of peers stay, marked Stale`, async () => {
      assert.deepEqual(await freshness(policy), { apps: 'Current', batch: 'Stale' });
      assert.deepEqual(await freshness(policy, unread), { apps: 'Current', batch: 'Stale' });
      const { request } = await router(policy);
      const { resources } = (await (await request('/apis/batch/v1')).json()) as {
        resources: { name: string }[];
      };
      assert.deepEqual(
        resources.map(({ name }) => name),
        ['jobs'],
      );
    });

    test(`policy ${policy}: documents still speak for the version that responds`, async () => {
      const { request } = await router(policy, threeVersions);
      const { paths } = (await (await request('/openapi/v3')).json()) as {
        paths: Record<string, { serverRelativeURL: string }>;
      };
      // Of two servers of 1.35 and one of 1.36, the majority speaks for what the local server does not have.
      assert.equal(paths['apis/batch/v1']?.serverRelativeURL, '/openapi/v3/apis/batch/v1?hash=135');
    });

    test(`policy ${policy}: the OpenAPI document that only a peer has is 503, no 404`, async () => {
      const { request, transport } = await router(policy);
      const { paths } = (await (await request('/openapi/v3')).json()) as { paths: object };
      assert.deepEqual(Object.keys(paths), ['apis/apps/v1', 'apis/batch/v1']);
      transport.sent.length = 0;
      const answer = await request('/openapi/v3/apis/batch/v1?hash=B');
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.equal((await request('/openapi/v3/apis/apps/v1?hash=A')).status, 404);
      assert.deepEqual(
        transport.sent.map(({ destination }) => destination.id),
        ['local'],
      );
    });
  }
});
