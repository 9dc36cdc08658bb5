import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthEndpoints } from '../health.ts';

const failing = (name: string) => ({ name, check: () => 'why is for the logs' });
const fine = (name: string) => ({ name, check: () => undefined });
const app = healthEndpoints({ livez: [fine('ping')], readyz: [fine('ping'), failing('a'), failing('b')] });

test('several checks can be excluded, and unknown ones among them are all named', async () => {
  const excluded = await app.request('/readyz?exclude=a&exclude=b');
  assert.deepEqual([excluded.status, await excluded.text()], [200, 'ok']);
  const verbose = await app.request('/readyz?verbose&exclude=a&exclude=b&exclude=etcd&exclude=x');
  assert.equal(
    await verbose.text(),
    '[+]ping ok\n[+]a excluded: ok\n[+]b excluded: ok\nwarn: some health checks cannot be excluded: no matches for "etcd","x"\nreadyz check passed\n',
  );
});

test('one exclusion leaves the other failure', async () => {
  const response = await app.request('/healthz?exclude=a');
  assert.equal(response.status, 500);
  assert.match(
    await response.text(),
    /\[\+\]a excluded: ok\n\[-\]b failed: reason withheld\nhealthz check failed\n$/,
  );
});

test('HEAD answers with the code and no body', async () => {
  for (const [path, status] of [
    ['/livez', 200],
    ['/readyz', 500],
    ['/readyz/ping', 200],
    ['/readyz/a', 500],
  ] as const) {
    const response = await app.request(path, { method: 'HEAD' });
    assert.deepEqual([response.status, await response.text()], [status, ''], path);
  }
});

test('each check that is run is told, excluded ones are not', async () => {
  const told: string[] = [];
  const observed = healthEndpoints({
    livez: [],
    readyz: [fine('ping'), failing('a'), failing('b')],
    onChecked: (endpoint, name, healthy) => told.push(`${endpoint} ${name} ${healthy}`),
  });
  await observed.request('/readyz?exclude=b');
  await observed.request('/healthz/a');
  assert.deepEqual(told, ['readyz ping true', 'readyz a false', 'healthz a false']);
});
