import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { peerAssertionHeader } from '../../src/identity/identity-header-names.ts';
import { jane } from '../support/assertions.ts';
import { startCommandProcess } from '../support/command-process.ts';
import { eventually } from '../support/eventually.ts';
import {
  allEnd,
  createProcessRouterFixture,
  generationOf,
  listedPods,
  type ProcessConnection,
  type ProcessRouter,
  pairOf,
  snapshotPath,
  startProcessRouter,
} from '../support/process-router.ts';
import { sampleValue } from '../support/prometheus-text.ts';

const processes = 2;
const states = 'mixed_version_proxy_processes';

/** A header by which the router knows Jane, who is no super-user, for one request. */
async function asJane({ edge }: ProcessRouter, target: string): Promise<readonly [string, string]> {
  const signer = createAssertionSigner({ key: edge.key, issuer: edge.issuer });
  const request = { user: jane, destinationId: 'cp-a', method: 'GET', target, rerouted: false };
  return [peerAssertionHeader, (await signer.sign(request)).text];
}

// One router for all of them, in this order: processes take a while to start.
test('what the processes of a router share', async (context) => {
  const fixture = await createProcessRouterFixture(context);
  const router = await startProcessRouter(context, fixture, processes, {
    'max-long-running-requests': ['3'],
    'max-connections': ['40'],
  });
  // New ones for each test: a 401 ends its connection.
  const connect = async () => pairOf(await router.connectToEach());

  await context.test('connections: they go to the processes in turn', async () => {
    const counts = new Map<number, number>();
    for (let connection = 0; connection < 6; connection++) {
      const { number, session } = await router.connect();
      session.destroy();
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    assert.deepEqual([counts.get(1), counts.get(2)], [3, 3]);
  });

  await context.test('snapshots: a push is in use everywhere when it is answered', async () => {
    const [first, second] = await connect();
    assert.deepEqual(await Promise.all([first, second].map(generationOf)), [undefined, undefined]);
    assert.equal((await second.ask('/readyz')).status, 500);
    const body = await router.sealed(1);
    const pushed = await first.ask(snapshotPath, { method: 'PUT', body });
    assert.equal(pushed.status, 200, pushed.text);
    assert.equal(JSON.parse(pushed.text).persisted, true);
    assert.equal(await generationOf(second), 1);
    assert.equal((await second.ask('/readyz')).status, 200);
    const again = await second.ask(snapshotPath, { method: 'PUT', body });
    assert.equal(JSON.parse(again.text).result, 'unchanged');
  });

  await context.test('snapshots: what one process refuses goes no further', async () => {
    const [first, second] = await connect();
    const forged = `${(await router.sealed(9)).slice(0, -8)}AAAAAAAA`;
    assert.equal((await first.ask(snapshotPath, { method: 'PUT', body: forged })).status, 401);
    assert.equal(await generationOf(second), 1);
    assert.equal((await readFile(router.path('snapshot'), 'utf8')).includes('AAAAAAAA'), false);
  });

  await context.test('snapshots: of two that come to two processes at once the newer one stays', async () => {
    const [first, second] = await connect();
    for (const generation of [2, 4, 6]) {
      const newer = first.ask(snapshotPath, { method: 'PUT', body: await router.sealed(generation + 1) });
      const older = second.ask(snapshotPath, { method: 'PUT', body: await router.sealed(generation) });
      assert.equal((await newer).status, 200, (await newer).text);
      assert.ok([200, 409].includes((await older).status), (await older).text);
      const used = await Promise.all([first, second].map(generationOf));
      assert.deepEqual(used, [generation + 1, generation + 1]);
    }
  });

  await context.test('assertions: what one process has believed is a replay in the other', async () => {
    const [first, second] = await connect();
    const target = '/api/v1/namespaces/default/pods';
    const headers = await asJane(router, target);
    assert.equal((await first.ask(target, { headers })).status, 200);
    const seen = router.apiServer.requests.at(-1)?.headers ?? [];
    assert.equal(seen[seen.indexOf('x-remote-user') + 1], jane.name);
    const requestsBefore = router.apiServer.requests.length;
    const replayed = await second.ask(target, { headers });
    assert.equal(replayed.status, 401);
    assert.equal(router.apiServer.requests.length, requestsBefore);
  });

  await context.test(
    'assertions: while nobody can tell what was used elsewhere, none is believed',
    async () => {
      const [first] = await connect();
      const target = '/api/v1/namespaces/default/pods';
      const headers = await asJane(router, target);
      const requestsBefore = router.apiServer.requests.length;
      router.command.signal('SIGSTOP');
      try {
        assert.equal((await first.ask(target, { headers })).status, 503);
      } finally {
        router.command.signal('SIGCONT');
      }
      assert.equal(router.apiServer.requests.length, requestsBefore);
    },
  );

  await context.test('metrics: whichever process is scraped tells those of all', async () => {
    const [first, second] = await connect();
    const before = listedPods(await first.scrape());
    for (const connection of [first, second, second]) await connection.ask('/api/v1/pods');
    for (const connection of [first, second]) {
      const families = await connection.scrape();
      assert.equal(listedPods(families), before + 3);
      assert.equal(sampleValue(families, states, { state: 'answering' }), processes);
      assert.equal(sampleValue(families, states, { state: 'silent' }), 0);
      assert.equal(sampleValue(families, states, { state: 'starting' }), 0);
      assert.equal(sampleValue(families, 'mixed_version_proxy_snapshot_generation'), 7);
    }
    // A scrape of health checks is what counts them.
    const checks = async (connection: ProcessConnection): Promise<number | undefined> =>
      sampleValue(await connection.scrape('/metrics/slis'), 'kubernetes_healthchecks_total', {
        name: 'ping',
        type: 'livez',
        status: 'success',
      });
    const counted = Number(await checks(first));
    assert.deepEqual([await checks(second), await checks(first)], [counted + 1, counted + 2]);
  });

  await context.test('metrics: a process that does not answer is told of, and its counts stay', async () => {
    const [first, second] = await connect();
    await second.ask('/api/v1/pods');
    const before = listedPods(await first.scrape());
    const pid = router.pids().get(2) ?? assert.fail('process 2 serves');
    process.kill(pid, 'SIGSTOP');
    try {
      const families = await first.scrape();
      assert.equal(sampleValue(families, states, { state: 'silent' }), 1);
      assert.equal(sampleValue(families, states, { state: 'answering' }), 1);
      assert.equal(listedPods(families), before);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    assert.equal(sampleValue(await first.scrape(), states, { state: 'silent' }), 0);
  });

  await context.test('limits: each process has its share, rounded up', async (each) => {
    const [first, second] = await connect();
    const target = '/api/v1/pods?watch=true';
    for (const { session } of [first, second]) {
      const statuses: number[] = [];
      for (let watch = 0; watch < 3; watch++) {
        const [name, value] = await asJane(router, target);
        const stream = session.request({ ':path': target, [name]: value });
        each.after(() => stream.close());
        const [head] = await once(stream, 'response');
        statuses.push(Number(head[':status']));
      }
      assert.deepEqual(statuses, [200, 200, 429]);
    }
  });

  await context.test(
    'limits: a connection too many is closed, not handed from process to process',
    async (each) => {
      const [first] = await connect();
      let closed = 0;
      for (let connection = 0; connection < 60; connection++) {
        const socket = connectTcp(router.port, '127.0.0.1');
        each.after(() => socket.destroy());
        socket.on('error', () => {}).once('close', () => closed++);
        socket.resume();
      }
      await eventually(() => closed >= 20);
      assert.equal((await first.ask('/livez')).status, 200);
    },
  );

  await context.test(
    'the port: kill -9 of the supervisor leaves no process behind that keeps it',
    async (each) => {
      const pids = [...router.pids().values()];
      assert.equal(pids.length, processes);
      router.command.signal('SIGKILL');
      await allEnd(pids);
      assert.match(router.command.log(), /The supervisor is gone/);
      const next = startCommandProcess(each, fixture.args({ 'secure-port': [String(router.port)] }));
      await eventually(() => next.log().includes('"msg":"Serving"') || !next.isRunning());
      assert.ok(next.isRunning(), next.log());
    },
  );
});
