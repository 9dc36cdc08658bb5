import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId, mixedCluster } from '../../../test/support/decision-rows.ts';
import {
  assertAnotherResponds,
  jobs,
  pods,
  shuttingDown,
  shuttingDownHead,
  startWithRefusals,
} from '../../../test/support/refusing-servers.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { shuttingDownStatus } from './judge-response.ts';

const start = (refuses: (attempt: number) => boolean, response = shuttingDown, snapshot = mixedCluster) =>
  startWithRefusals(refuses, response, snapshot);

test('what a server that ends refuses is asked of another one, writes too', async () => {
  for (const [method, url] of [
    ['GET', jobs],
    ['GET', pods],
    ['DELETE', `${jobs}/one`],
    ['PATCH', `${pods}/one`],
  ] as const) {
    await assertAnotherResponds(method, url, shuttingDown);
  }
});

test('where nobody else serves it, or all of them end, the client is told when to ask again', async () => {
  const alone = snapshotOf({ [localId]: ['v1/pods'] });
  for (const [snapshot, sent] of [
    [alone, 1],
    [mixedCluster, 2],
  ] as const) {
    const { app, transport } = await start(() => true, shuttingDown, snapshot);
    const response = await app.request(pods);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.equal(await response.text(), shuttingDownStatus);
    assert.equal(transport.sent.length, sent);
  }
});

test('a write whose body is gone is not sent again', async () => {
  const { app, transport } = await start(() => true);
  const response = await app.request(jobs, { method: 'POST', body: '{}' });
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(transport.sent.length, 1);
});

test('any other 503 is passed on: a server may have carried something out', async () => {
  const other = shuttingDownStatus.replace('apiserver is shutting down', 'etcdserver: request timed out');
  const responses = [
    () =>
      new Response(other, {
        status: 503,
        headers: { ...shuttingDownHead, 'content-length': String(other.length) },
      }),
    () =>
      new Response(shuttingDownStatus, {
        status: 503,
        headers: { ...shuttingDownHead, 'retry-after': '30' },
      }),
    () => new Response(shuttingDownStatus, { status: 500, headers: shuttingDownHead }),
    () =>
      new Response('x'.repeat(150), {
        status: 503,
        headers: { ...shuttingDownHead, 'content-type': 'text/html' },
      }),
  ];
  for (const response of responses) {
    const { app, transport } = await start(() => true, response);
    assert.ok((await app.request(jobs)).status >= 500);
    assert.equal(transport.sent.length, 1);
  }
});

test('what a kubelet or an application says is passed on', async () => {
  for (const subresource of ['proxy', 'log']) {
    const { app, transport } = await start(() => true);
    assert.equal((await app.request(`${pods}/one/${subresource}`)).status, 503);
    assert.equal(transport.sent.length, 1, subresource);
  }
});
