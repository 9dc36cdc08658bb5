import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Hono } from 'hono';
import { settle } from '../../test/support/manual-clock.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { frontProxyConnection, receiverHolding, testApp } from '../../test/support/routers/test-app.ts';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { type Destination, TransportError } from '../request/destination.ts';
import type { ConnectionInfo } from '../request/inbound.ts';
import { passedOnResponse } from '../request/transport.ts';
import type { PreferredVersion } from '../routing/decision.ts';
import { ServerBook } from '../servers/server-book.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { explainHere } from './explain.ts';
import { mixedVersionProxy } from './middleware.ts';
import { resolveOptions } from './options.ts';

const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web';
const pods = '/api/v1/namespaces/default/pods/x';
const start = Date.UTC(2026, 0, 31);

function server(minor: string): ServerOptions {
  const schemas: ServedSet['schemas'] = {
    'core.pods': { v1: 'c2FtZS4uLi4=' },
    'autoscaling.horizontalpodautoscalers': { v2: btoa(`min-${minor}`.padEnd(8, '.')) },
  };
  return { serves: ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'], version: `v${minor}.2`, schemas };
}

/** Two of three servers are 1.36, or one where the local server is, too. @param milliseconds when that begins to count */
function clusterThatChangesAt(milliseconds: number, local: '1.35' | '1.36' = '1.35') {
  const at = new Date(start + milliseconds).toISOString();
  const servers = { local: server(local), b: server('1.36'), c: server(local === '1.35' ? '1.36' : '1.35') };
  const newer = local === '1.35' ? ['b', 'c'] : ['local', 'b'];
  const versionChanges = newer.map((id) => ({ server: id, from: '1.35', to: '1.36', at }));
  return snapshotOf(servers, { createdAt: new Date(start).toISOString(), versionChanges });
}

/** A router that learned when another version is preferred. */
async function routerThatChangesAt(
  milliseconds: number,
  options: { readonly enabled?: boolean; readonly connection?: ConnectionInfo } = {},
) {
  const transport = recordingTransport();
  const snapshot = clusterThatChangesAt(milliseconds);
  const { app } = await testApp({
    snapshot,
    receivedAt: start,
    transport,
    steadyClock: () => Date.now(),
    ...options,
  });
  const newer = () => transport.sent.filter(({ destination }) => destination.id !== 'local').length;
  const older = () => transport.sent.length - newer();
  const ask = async (path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}) => {
    const response = await app.request(`https://router${path}`, { method, headers });
    await response.text();
  };
  return { ask, newer, older };
}

async function pass(context: TestContext, milliseconds: number): Promise<void> {
  context.mock.timers.tick(milliseconds);
  await settle();
}

test('when the preferred version changes, no router sends anything to the version of before once another one sends to the new one', async (context) => {
  const [early, late] = [await routerThatChangesAt(5_000), await routerThatChangesAt(6_900)];
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start });
  const asked: Promise<void>[] = [];
  let lastOlder = 0;
  let firstNewer: number | undefined;
  for (let time = 0; time <= 8_000; time += 100) {
    const before = early.older() + late.older();
    for (const { ask } of [early, late]) asked.push(ask(autoscalers), ask(autoscalers, 'PUT'));
    await pass(context, 0);
    if (early.older() + late.older() > before) lastOlder = time;
    if (early.newer() + late.newer() > 0) firstNewer ??= time;
    await pass(context, 100);
  }
  await Promise.all(asked);
  assert.equal(firstNewer, 5_000);
  assert.equal(lastOlder, 4_800);
  assert.equal(
    early.older() + early.newer() + late.older() + late.newer(),
    asked.length,
    'all were carried out',
  );
});

test('what all versions understand alike does not wait for the change of the preferred version', async (context) => {
  const router = await routerThatChangesAt(5_000);
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  await router.ask(pods);
  assert.equal(router.older(), 1);
});

test('nothing waits where the feature gate is off', async (context) => {
  const router = await routerThatChangesAt(5_000, { enabled: false });
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  await router.ask(autoscalers);
  assert.equal(router.older(), 1);
});

test('what a peer has rerouted does not wait once more: the server of the version before would get it after the change', async (context) => {
  const router = await routerThatChangesAt(5_000, { connection: frontProxyConnection });
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  const rerouted = { 'x-remote-user': 'alice', 'x-kubernetes-peer-proxied': 'true' };
  const asked = router.ask(autoscalers, 'PUT', rerouted);
  await pass(context, 0);
  assert.equal(router.older(), 1);
  await asked;
});

test('who was waited for until the preferred version has changed is replaced by no server of the version before', async (context) => {
  const at = new Date(start + 5_000).toISOString();
  const servers = { local: server('1.36'), a: server('1.36'), b: server('1.35'), c: server('1.35') };
  const versionChanges = ['local', 'a'].map((id) => ({ server: id, from: '1.35', to: '1.36', at }));
  for (const [waits, asked] of [
    [1_000, ['1.35', '1.35']],
    [4_000, ['1.35']],
    [6_000, ['1.35']],
  ] as const) {
    const transport = recordingTransport(({ destination }) => {
      if (transport.sent.length > 1) return Response.json({ answeredBy: destination.id });
      context.mock.timers.tick(waits);
      throw new TransportError('Timeout', 'not connected', { mayHaveBeenProcessed: false });
    });
    const snapshot = snapshotOf(servers, { createdAt: new Date(start).toISOString(), versionChanges });
    const { app } = await testApp({ snapshot, receivedAt: start, transport, steadyClock: () => Date.now() });
    // Not before: to take a snapshot in may need a real timer.
    context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start });
    const response = await app.request(`https://router${autoscalers}`, { method: 'PUT' });
    assert.deepEqual(
      transport.sent.map(({ destination }) => (/[bc]/.test(destination.id) ? '1.35' : '1.36')),
      asked,
    );
    assert.equal(response.status, asked.length === 2 ? 200 : 503);
    context.mock.timers.reset();
  }
});

test('a request that has waited for a probe goes where it belongs by then: its server may be another one', async () => {
  const servers = { local: server('1.35'), b: server('1.35'), c: server('1.35') };
  const health = new ServerBook({ rise: 1, fall: 1 });
  const probed = (id: string) => {
    health.probing(id);
    health.probed(id, 'ready');
  };
  for (const id of Object.keys(servers)) {
    health.follow(id);
    probed(id);
  }
  const transport = recordingTransport();
  let table = buildRoutingTable(snapshotOf(servers));
  const { app } = await testApp({ routingTable: { current: () => table }, transport, health });
  health.goneAway('local');
  const asking = app.request(`https://router${autoscalers}`, { method: 'PUT' });
  await settle();
  assert.equal(transport.sent.length, 0);
  table = buildRoutingTable(snapshotOf({ ...servers, local: server('1.36') }));
  probed('local');
  await asking;
  assert.equal(transport.sent.length, 1);
  assert.notEqual(transport.sent[0]?.destination.id, 'local');
});

test('a watch that is to be opened in its turn waits for the next change as well', async (context) => {
  const transport = recordingTransport();
  const at = (milliseconds: number) => new Date(start + milliseconds).toISOString();
  const snapshot = snapshotOf(
    { local: server('1.35'), b: server('1.36'), c: server('1.37') },
    {
      createdAt: at(0),
      versionChanges: [
        { server: 'b', from: '1.35', to: '1.36', at: at(3_000) },
        { server: 'c', from: '1.35', to: '1.37', at: at(7_000) },
      ],
    },
  );
  const { app } = await testApp({
    snapshot,
    receivedAt: start,
    transport,
    steadyClock: () => Date.now(),
    preferredVersion: 'newest',
    random: () => 0.9,
  });
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 2_000 });
  const watching = app.request('https://router/apis/autoscaling/v2/horizontalpodautoscalers?watch=true');
  await settle();
  // The turn of the watch comes 2.7 seconds after the first change, when requests wait for the second one.
  await pass(context, 1_000);
  await pass(context, 2_700);
  assert.equal(transport.sent.length, 0);
  await pass(context, 1_300);
  await watching;
  assert.equal(transport.sent.length, 1);
});

test("a library's own handlers wait for the change as its peers do", async (context) => {
  const transport = recordingTransport();
  const local: Destination = {
    kind: 'local',
    id: 'local',
    origin: 'https://127.0.0.1:6444',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  };
  for (const [version, before, after] of [
    ['1.35', 'here', 'a peer'],
    ['1.36', 'a peer', 'here'],
  ] as const) {
    const routingTable = await receiverHolding(clusterThatChangesAt(5_000, version), start);
    const app = new Hono();
    app.use(mixedVersionProxy({ local, routingTable, transport, steadyClock: () => Date.now() }));
    app.all('*', (handled) => handled.text('here'));
    const ask = async () => {
      const response = await app.request(`https://own.example${autoscalers}`, { method: 'PUT' });
      return (await response.text()) === 'here' ? 'here' : 'a peer';
    };
    context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 2_000 });
    assert.equal(await ask(), before);
    await pass(context, 2_000);
    const waiting = ask();
    await pass(context, 900);
    assert.equal(await Promise.race([waiting, Promise.resolve('nobody')]), 'nobody');
    await pass(context, 100);
    assert.equal(await waiting, after);
    context.mock.timers.reset();
  }
  assert.ok(
    transport.sent.every(({ destination }) => destination.kind === 'peer'),
    'the handlers stand for the local server',
  );
});

describe('while servers are of several versions', () => {
  const servers = { local: server('1.35'), b: server('1.36'), c: server('1.35') };
  const late = 6_001;

  /** A router whose servers said `ago` milliseconds before that they are as it knows them. */
  async function routerConfirmed(ago: number) {
    const transport = recordingTransport();
    let confirmedAt = start - ago;
    const { app, receiver } = await testApp({
      snapshot: snapshotOf(servers),
      transport,
      steadyClock: () => start,
      monotonicClock: () => start,
      confirmedAt: () => confirmedAt,
    });
    const settings = resolveOptions({ routingTable: receiver, transport, monotonicClock: () => start });
    const explain = (url: string, method: string) => explainHere({ url, method }, settings);
    const ask = (path: string, method: string) => app.request(`https://router${path}`, { method });
    return { ask, explain, transport, confirm: () => (confirmedAt = start) };
  }

  test('a router that has not heard from its servers for six seconds sends no write of what they understand differently', async (context) => {
    const { ask, explain, transport } = await routerConfirmed(late);
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const asking = ask(autoscalers, 'PUT');
    await settle();
    for (let asked = 0; asked < 20; asked++) await pass(context, 100);
    const response = await asking;
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.match(
      await response.text(),
      /several versions, or may be by now, and it was not possible to ask them/,
    );
    assert.equal(transport.sent.length, 0);
    const { notes } = explain(autoscalers, 'PUT');
    assert.match(notes.join(), /503 \(VersionNotConfirmed\)/);
    assert.deepEqual(explain(pods, 'PUT').notes, []);
  });

  test('and sends everything else', async () => {
    const { ask, transport } = await routerConfirmed(late);
    assert.equal((await ask(autoscalers, 'GET')).status, 200);
    assert.equal((await ask(pods, 'PUT')).status, 200);
    assert.equal(transport.sent.length, 2);
  });

  test('a write waits for a moment until its servers have been heard', async (context) => {
    const { ask, transport, confirm } = await routerConfirmed(late);
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const asking = ask(autoscalers, 'PUT');
    await settle();
    await pass(context, 300);
    assert.equal(transport.sent.length, 0);
    confirm();
    await pass(context, 100);
    assert.equal((await asking).status, 200);
    assert.equal(transport.sent.length, 1);
  });

  test('a word of a moment ago is enough', async () => {
    const { ask, transport } = await routerConfirmed(late - 1);
    assert.equal((await ask(autoscalers, 'PUT')).status, 200);
    assert.equal(transport.sent.length, 1);
  });
});

test('a request that would wait for more than ten seconds gets a 503 then, and is to be sent again', async (context) => {
  const transport = recordingTransport();
  const { app } = await testApp({
    snapshot: clusterThatChangesAt(5_000),
    receivedAt: start,
    transport,
    // The change lies ahead for ever, as where one comes after the other.
    steadyClock: () => start + 4_000,
    monotonicClock: () => Date.now(),
  });
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start });
  const asked = app.request(`https://router${autoscalers}`, { method: 'PUT' });
  await settle();
  for (let second = 0; second < 10; second++) await pass(context, 1_000);
  const response = await asked;
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(transport.sent.length, 0);
});

test('a request that waits for another version waits no longer than its client', async (context) => {
  const transport = recordingTransport(({ destination }) => Response.json({ answeredBy: destination.id }));
  const { app } = await testApp({
    snapshot: clusterThatChangesAt(5_000),
    receivedAt: start,
    transport,
    steadyClock: () => Date.now(),
  });
  context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start + 4_000 });
  const client = new AbortController();
  let isOver = false;
  const asked = Promise.resolve(app.request(`https://router${autoscalers}`, { signal: client.signal }));
  void asked.finally(() => {
    isOver = true;
  });
  await settle();
  assert.equal(isOver, false);
  client.abort();
  await settle();
  assert.equal(isOver, true);
  await asked;
});

test('a policy that is stored before servers that know it get writes is answered with a warning', async () => {
  const policies = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
  const older: ServerOptions = { serves: ['v1/pods'], version: 'v1.35.2' };
  const kind = 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
  const newer: ServerOptions = { serves: ['v1/pods', kind], version: 'v1.36.0' };
  const warningOf = async (preferredVersion: PreferredVersion, path: string, status = 201) => {
    const passedOn: string[] = [];
    const { app } = await testApp({
      snapshot: snapshotOf({ local: older, b: older, c: newer }),
      preferredVersion,
      transport: {
        sent: [],
        async send(_outbound, _inbound, onResponseHead) {
          const disposed = onResponseHead({ status, headers: [] });
          if (disposed.kind === 'forward') passedOn.push(...disposed.headers);
          return passedOnResponse(new Response(null, { status }));
        },
      },
    });
    await app.request(`https://router${path}`, { method: 'POST' });
    return passedOn[passedOn.indexOf('warning') + 1];
  };
  assert.match((await warningOf('majority', policies)) ?? '', /^299 - "stored, but it does not act yet/);
  assert.doesNotMatch((await warningOf('newest', policies)) ?? '', /^299/);
  assert.doesNotMatch((await warningOf('majority', '/api/v1/namespaces/default/pods')) ?? '', /^299/);
  assert.doesNotMatch((await warningOf('majority', policies, 422)) ?? '', /^299/);
});

test('a write waits for its connection no longer than it would go there: not once another version is preferred, nor while its server is lost', async () => {
  const servers = { local: server('1.35'), b: server('1.35'), c: server('1.35') };
  const health = new ServerBook({ rise: 1, fall: 1 });
  for (const id of Object.keys(servers)) {
    health.follow(id);
    health.probing(id);
    health.probed(id, 'ready');
  }
  const transport = recordingTransport();
  let table = buildRoutingTable(snapshotOf(servers));
  const { app } = await testApp({ routingTable: { current: () => table }, transport, health });
  await app.request(`https://router${autoscalers}`, { method: 'PUT' });
  const [sent] = transport.sent;
  assert.equal(sent?.destination.id, 'local');
  assert.equal(sent.stillHolds?.(), true);
  table = buildRoutingTable(snapshotOf({ ...servers, b: server('1.36'), c: server('1.36') }));
  assert.equal(sent.stillHolds?.(), false, 'it would go to 1.36');
  table = buildRoutingTable(snapshotOf(servers));
  assert.equal(sent.stillHolds?.(), true);
  health.connectionLost('local', true);
  health.probing('local');
  health.probed('local', 'unreachable');
  assert.equal(sent.stillHolds?.(), false, 'another process may take its address');
});
