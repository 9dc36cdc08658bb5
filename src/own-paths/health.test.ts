import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthEndpoints } from './health.ts';

const failing = { name: 'snapshot', check: () => 'no snapshot from 10.0.0.7 yet' };
const fine = { name: 'ping', check: () => undefined };
const app = healthEndpoints({ livez: [fine], readyz: [fine, failing] });
const get = async (path: string) => {
  const response = await app.request(path);
  return { status: response.status, body: await response.text() };
};

test('a healthy endpoint says ok and no more', async () => {
  assert.deepEqual(await get('/livez'), { status: 200, body: 'ok' });
});

test('verbose lists every check', async () => {
  assert.deepEqual(await get('/livez?verbose'), { status: 200, body: '[+]ping ok\nlivez check passed\n' });
});

test('a failure is always verbose, and its reason stays in the logs', async () => {
  assert.deepEqual(await get('/readyz'), {
    status: 500,
    body: '[+]ping ok\n[-]snapshot failed: reason withheld\nreadyz check failed\n',
  });
});

test('an excluded check does not fail the endpoint', async () => {
  assert.equal((await get('/readyz?exclude=snapshot')).status, 200);
});

test('an unknown exclusion is said', async () => {
  assert.deepEqual(await get('/livez?verbose&exclude=etcd'), {
    status: 200,
    body: '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "etcd"\nlivez check passed\n',
  });
});

test('each check has a path of its own', async () => {
  assert.equal((await get('/readyz/ping')).status, 200);
  assert.equal((await get('/readyz/snapshot')).status, 500);
  assert.equal((await get('/readyz/etcd')).status, 404);
});
