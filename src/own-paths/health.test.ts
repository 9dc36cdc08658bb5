import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import type { Explanation } from '../proxy/explain.ts';
import type { Destination } from '../request/destination.ts';
import { ServerBook } from '../servers/server-book.ts';
import type { ProbeOutcome } from '../servers/server-states.ts';
import { healthEndpoints, serversCheck } from './health.ts';
import type { RouterStatus } from './status/status-schema.ts';

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

const failingCheck = (name: string) => ({ name, check: () => 'why is for the logs' });
const fineCheck = (name: string) => ({ name, check: () => undefined });
const appWithThree = healthEndpoints({
  livez: [fineCheck('ping')],
  readyz: [fineCheck('ping'), failingCheck('a'), failingCheck('b')],
});

test('several checks can be excluded, and unknown ones among them are all named', async () => {
  const excluded = await appWithThree.request('/readyz?exclude=a&exclude=b');
  assert.deepEqual([excluded.status, await excluded.text()], [200, 'ok']);
  const verbose = await appWithThree.request('/readyz?verbose&exclude=a&exclude=b&exclude=etcd&exclude=x');
  assert.equal(
    await verbose.text(),
    '[+]ping ok\n[+]a excluded: ok\n[+]b excluded: ok\nwarn: some health checks cannot be excluded: no matches for "etcd","x"\nreadyz check passed\n',
  );
});

test('one exclusion leaves the other failure', async () => {
  const response = await appWithThree.request('/healthz?exclude=a');
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
    const response = await appWithThree.request(path, { method: 'HEAD' });
    assert.deepEqual([response.status, await response.text()], [status, ''], path);
  }
});

const local: Destination = {
  kind: 'local',
  id: 'local',
  origin: 'https://127.0.0.1:6444',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
};
const byPeer = { byPeer: true };
const byOther = { byPeer: false };

function health(outcomes: Readonly<Record<string, ProbeOutcome | undefined>>): ServerBook {
  const known = new ServerBook({ rise: 1, fall: 1 });
  for (const [id, outcome] of Object.entries(outcomes)) {
    known.follow(id);
    if (outcome !== undefined) known.probed(id, outcome);
  }
  return known;
}

test('one peer that is down makes no router unready', () => {
  const servers = health({ local: 'ready', a: 'unreachable', b: 'ready' });
  assert.equal(serversCheck({ local, health: servers }).check(byOther), undefined);
  assert.equal(serversCheck({ health: servers }).check(byOther), undefined);
});

test('a router is not ready before any server has responded, nor when none does', () => {
  for (const servers of [health({ local: undefined }), health({ local: 'unreachable', a: 'not-ready' })]) {
    assert.match(serversCheck({ local, health: servers }).check(byOther) ?? '', /no API server is healthy/);
    assert.match(serversCheck({ health: servers }).check(byOther) ?? '', /no API server is healthy/);
  }
});

test('a router whose peers have responded waits for the first word of the local server', () => {
  const servers = health({ local: undefined, a: 'ready' });
  assert.match(serversCheck({ local, health: servers }).check(byOther) ?? '', /not responded to a probe yet/);
  servers.probed('local', 'refusing');
  assert.equal(serversCheck({ local, health: servers }).check(byOther), undefined);
});

test('with the local server down a router is ready by its peers', () => {
  const servers = health({ local: 'unreachable', a: 'ready' });
  assert.equal(serversCheck({ local, health: servers }).check(byOther), undefined);
});

test('routers whose local servers are all down do not keep each other ready', async () => {
  const servers = health({ local: 'unreachable', a: 'ready' });
  assert.match(serversCheck({ local, health: servers }).check(byPeer) ?? '', /local API server/);
  const { app } = await testApp({ health: servers, snapshot: mixedCluster });
  const ask = (headers: Record<string, string>) =>
    app.request('https://router.example/readyz?verbose', { headers });
  const client = await ask({});
  assert.deepEqual([client.status, /\[\+\]servers ok/.test(await client.text())], [200, true]);
  const peer = await ask({ 'x-kubernetes-peer-proxied': 'true' });
  assert.deepEqual([peer.status, /\[-\]servers failed/.test(await peer.text())], [500, true]);
});

test('a peer is told at once that the local server has ended, load balancers after several failures', () => {
  const servers = new ServerBook({ rise: 1, fall: 3 });
  for (const id of ['local', 'a']) {
    servers.follow(id);
    servers.probing(id);
    servers.probed(id, 'ready');
  }
  const { check } = serversCheck({ local, health: servers });
  // A connection may break under a server that is well: the next probe tells.
  servers.connectionLost('local');
  assert.equal(check(byPeer), undefined);
  servers.probing('local');
  servers.probed('local', 'unreachable');
  assert.match(check(byPeer) ?? '', /local API server/);
  assert.equal(check(byOther), undefined);
  servers.probing('local');
  servers.probed('local', 'ready');
  assert.equal(check(byPeer), undefined);
});

test('status and explain show the health of each server', async () => {
  const servers = health({ local: 'ready', 'peer-1': 'not-ready', 'peer-2': undefined });
  const connection = userConnection('admin', ['system:masters']);
  const { app } = await testApp({ health: servers, snapshot: mixedCluster, connection });
  const get = async (path: string): Promise<unknown> =>
    (await app.request(`https://router.example/.mixed-version-proxy/v1/${path}`)).json();
  const status = (await get('status')) as RouterStatus;
  assert.equal(status.form, 'sidecar');
  assert.equal(status.localServer?.status, 'ready');
  const healthOf = (wanted: string) => status.servers.find(({ id }) => id === wanted)?.health;
  const one = healthOf('peer-1');
  assert.deepEqual([one?.status, one?.reason], ['unready', null]);
  assert.ok(Date.parse(one?.since ?? '') <= Date.now());
  assert.deepEqual(healthOf('peer-2'), { status: 'untried', reason: null, since: null });
  const explained = (await get('explain?url=/apis/batch/v1/jobs')) as Explanation;
  assert.deepEqual(
    explained.candidates.map(({ id, health: shown }) => `${id} ${shown}`),
    ['peer-1 unready', 'peer-2 untried'],
  );
});

test('status shows the gateway form', async () => {
  const connection = userConnection('admin', ['system:masters']);
  const gateway = { local: undefined } as const;
  const { app } = await testApp({ ...gateway, snapshot: mixedCluster, connection });
  const response = await app.request('https://router.example/.mixed-version-proxy/v1/status');
  const status = (await response.json()) as RouterStatus;
  const { form, serverId, localServer, servers } = status;
  assert.deepEqual({ form, serverId, localServer }, { form: 'gateway', serverId: null, localServer: null });
  assert.equal(servers.length, mixedCluster.servers.length);
  assert.ok(servers.every(({ local }) => !local));
});

test('a router that was started with a stored snapshot is not ready before it has tried each server, and verified those that answer', () => {
  const health = new ServerBook({ rise: 1, fall: 3 });
  const ready = (byPeer = false) =>
    serversCheck({ local: undefined, health }).check({ byPeer }) === undefined;
  const probe = (id: string, outcome: ProbeOutcome) => {
    health.probing(id);
    health.probed(id, outcome);
  };
  for (const id of ['a', 'b', 'c']) health.follow(id, true);
  probe('a', 'ready');
  probe('b', 'changed');
  assert.equal(ready(), false);
  probe('c', 'unreachable');
  assert.equal(ready(), false, 'b is not what the snapshot says');
  health.apply('b', { kind: 'read' });
  assert.equal(ready(), true);
});
