import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  classicResponses,
  fakeServer,
  jsonDocument,
  plainNotFound,
  refusesConnections,
} from '../../test/support/fake-server-documents.ts';
import { listResponse, scriptedWatch } from '../../test/support/scripted-watch.ts';
import { systemClock } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { createClusterSource } from './cluster-source.ts';
import { runOnce } from './sync-loop.ts';

test('a target that throws is a failed delivery, and the other targets get the snapshot', async () => {
  const delay = { initialMilliseconds: 1, maximumMilliseconds: 1 };
  const { ok, deliveries } = await runOnce(
    {
      servers: [{ id: 'x', address: 'x:6443', documents: fakeServer(classicResponses({ v1: ['pods'] })) }],
      targets: [
        { name: 'one', put: async () => assert.fail('a bug') },
        { name: 'other', put: async () => ({ kind: 'accepted' }) },
      ],
      timing: { deliveryBackOff: delay },
    },
    new AbortController().signal,
  );
  assert.equal(ok, false);
  assert.deepEqual(deliveries, [
    { target: 'one', result: { kind: 'unreachable', message: 'a bug' } },
    { target: 'other', result: { kind: 'accepted' } },
  ]);
});

test('a group version that /apis does not list stays from one run to the next while the OpenAPI index cannot be read', async () => {
  const path = '/apis/batch/v1beta1';
  const documents = fakeServer({
    ...classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] }),
    [path]: classicResponses({ 'batch/v1beta1': ['cronjobs'] })[path] ?? {},
    '/openapi/v3': { paths: { 'apis/batch/v1beta1': { serverRelativeURL: `/openapi/v3${path}?hash=1` } } },
  });
  const once = (previous?: Snapshot) =>
    runOnce(
      { servers: [{ id: 'x', address: 'x:6443', documents }], targets: [], previous },
      new AbortController().signal,
    );
  const before = await once();
  documents.responses.set('/openapi/v3', refusesConnections);
  const { snapshot } = await once(before.snapshot);
  const served = snapshot?.servedSets[snapshot.servers[0]?.serves ?? ''];
  assert.deepEqual(served?.storageVersions['batch.cronjobs'], ['v1beta1']);
});

test('custom resources stay known from one run to the next while no server that is asked serves their definitions', async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const documents = fakeServer({
    ...classicResponses({ v1: ['pods'] }),
    [definitions]: {
      items: [{ metadata: { name: 'x' }, spec: { group: 'example.com', versions: [{ name: 'v1' }] } }],
    },
  });
  const servers = [{ id: 'x', address: 'x:6443', documents }];
  const signal = new AbortController().signal;
  const before = scriptedWatch();
  before.list = (path) => documents.get(path, 'application/json');
  const listed = createClusterSource({ connection: before, listed: servers, clock: systemClock });
  const { snapshot: previous } = await runOnce({ servers, clusterSource: listed, targets: [] }, signal);
  assert.deepEqual(previous?.customResourceGroups, [{ group: 'example.com', version: 'v1' }]);

  // The next run watches through an API server that starts: before 1.23 it says that it serves nothing.
  const connection = scriptedWatch();
  connection.list = () => plainNotFound;
  const clusterSource = createClusterSource({
    connection,
    finding: { servingNames: async () => [], documentsOf: () => documents, previous },
    listed: servers,
    clock: systemClock,
  });
  const { snapshot, ok, warnings } = await runOnce({ servers, clusterSource, previous, targets: [] }, signal);
  assert.deepEqual(snapshot?.customResourceGroups, [{ group: 'example.com', version: 'v1' }]);
  assert.deepEqual([ok, warnings], [true, []]);
});

test('an APIService that is left out is told of whatever else cannot be read, and once', async () => {
  const services = '/apis/apiregistration.k8s.io/v1/apiservices';
  const odd = { metadata: { name: 'odd' }, spec: { group: 'Odd Group', version: 'v1' } };
  const documents = fakeServer(classicResponses({ v1: ['pods'] }));
  const servers = [{ id: 'x', address: 'x:6443', documents }];
  const forbidden = () => jsonDocument({ kind: 'Status', code: 403 }, 403);
  const signal = new AbortController().signal;
  const others = [forbidden, () => plainNotFound];
  for (const other of others) {
    const connection = scriptedWatch();
    connection.list = (path) => (path.startsWith(services) ? listResponse([odd]) : other());
    const clusterSource = createClusterSource({
      connection,
      finding: { servingNames: async () => [], documentsOf: () => documents },
      listed: servers,
      clock: systemClock,
    });
    const { warnings } = await runOnce({ servers, clusterSource, targets: [] }, signal);
    assert.equal(warnings.join('\n').split('is left out').length, 2, warnings.join('\n'));
  }
});
