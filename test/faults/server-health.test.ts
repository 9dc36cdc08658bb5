import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/clients/ask.ts';
import { eventually } from '../support/eventually.ts';
import { jobs, pods, quick, readyz, startCluster, watch } from '../support/routers/health-cluster.ts';
import { startRunning } from '../support/routers/router-under-test.ts';

describe('the health of real servers', () => {
  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`a watch at a server that hangs ends, so that its client comes back to another one (${protocol})`, async (context) => {
      const { port, peers, becomes } = await startCluster(context, {}, protocol, { timeout: 1_000 });
      const watching = await watch(context, port);
      const [hanging, other] = peers[0].watches.length > 0 ? peers : peers.toReversed();
      assert.ok(hanging && other);
      hanging.health = 'hangs';
      const ended = new Promise((resolve) => watching.once('close', resolve));
      await becomes(hanging, 'down');
      await ended;
      assert.equal(watching.complete, true, 'between two events: informers watch on and list nothing anew');
      await watch(context, port);
      assert.equal(other.watches.length, 1);
    });
  }

  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`a watch that its server does not bring to its end makes the router look at that server at once (${protocol})`, async (context) => {
      // The router would look of itself after nine seconds at the earliest; in doubt it does after two.
      const flags = { 'health-check-interval': ['10s'] };
      const { port, peers, logLines } = await startCluster(context, flags, protocol, { fall: 1 });
      await watch(context, port);
      const ending = peers[0].watches.length > 0 ? peers[0] : peers[1];
      await ending.stop();
      await eventually(
        () => logLines.some((line) => line.includes('is unhealthy') && line.includes(ending.id)),
        7_000,
      );
    });
  }

  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`a write at a server that hangs fails long before three probes do, and the next one goes elsewhere (${protocol})`, async (context) => {
      // Three probes take half a minute.
      const { port, local, answeredBy, becomes } = await startCluster(context, {}, protocol, { fall: 3 });
      local.isStopped = true;
      const write = { client: 'alice', method: 'POST', path: pods, body: '{}' } as const;
      const { status, headers } = await ask(port, write);
      assert.equal(status, 503);
      assert.equal(allHeaders(headers, 'retry-after').length, 0, 'it may have been carried out');
      await becomes(local, 'down');
      assert.match(await answeredBy(pods), /^peer-/);
      local.isStopped = false;
      await local.stop();
      await local.start();
      await becomes(local, 'up');
      assert.equal(await answeredBy(pods), 'local');
    });
  }

  test('a server that refuses connections to probes gets no request, long before it counts as unhealthy', async (context) => {
    const flags = { 'health-check-interval': ['1s'] };
    const { peers, logLines, answeredBy } = await startCluster(context, flags, 'h2', { fall: 100 });
    await peers[0].stop();
    await eventually(() => logLines.some((line) => line.includes('A health check could not reach a server')));
    for (let request = 0; request < 20; request++) assert.equal(await answeredBy(jobs), 'peer-2');
    assert.deepEqual(
      logLines.filter((line) => line.includes('A destination did not respond')),
      [],
    );
  });

  test('a server that is not ready gets nothing new, and keeps its watches', async (context) => {
    const { port, peers, becomes, answeredBy } = await startCluster(context);
    const watching = await watch(context, port);
    const [leaving, other] = peers[0].watches.length > 0 ? peers : peers.toReversed();
    assert.ok(leaving && other);
    leaving.health = 'not-ready';
    await becomes(leaving, 'down');
    for (let request = 0; request < 6; request++) assert.equal(await answeredBy(jobs), other.id);
    leaving.watches[0]?.write('{"type":"MODIFIED"}\n');
    const [event] = (await once(watching, 'data')) as [Buffer];
    assert.match(event.toString(), /MODIFIED/);
  });
});

describe('the local server is down', () => {
  test('its requests go to peers, and come back with it', async (context) => {
    const { local, answeredBy, becomes } = await startCluster(context);
    assert.equal(await answeredBy(pods), 'local');
    await local.stop();
    for (let request = 0; request < 5; request++) assert.match(await answeredBy(pods), /^peer-/);
    await becomes(local, 'down');
    assert.match(await answeredBy(pods), /^peer-/);
    await local.start();
    await becomes(local, 'up');
    assert.equal(await answeredBy(pods), 'local');
  });
});

describe('a gateway', () => {
  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`serves from whoever is left, then 503 (${protocol})`, async (context) => {
      const { port, local, peers, becomes, answeredBy } = await startCluster(
        context,
        { gateway: ['true'] },
        protocol,
      );
      assert.equal((await ask(port, { client: 'alice', path: pods, protocol: 'h2' })).status, 200);
      const seen = new Set<string>();
      for (let request = 0; request < 60; request++) seen.add(await answeredBy(pods));
      assert.deepEqual([...seen].toSorted(), ['local', 'peer-1', 'peer-2']);
      for (const [server, left] of [
        [local, /^peer-/],
        [peers[0], /^peer-2$/],
      ] as const) {
        await server.stop();
        await becomes(server, 'down');
        for (const path of [pods, jobs, '/version']) assert.match(await answeredBy(path), left);
        assert.equal(await readyz(port), 200);
      }
      await peers[1].stop();
      await becomes(peers[1], 'down');
      for (const path of [pods, jobs, '/version']) assert.equal(await answeredBy(path), '503');
      // Up to as many probes as make a server unready, a broken connection says nothing.
      await eventually(async () => (await readyz(port)) === 500);
      await peers[0].start();
      await becomes(peers[0], 'up');
      assert.equal(await answeredBy(jobs), 'peer-1');
    });
  }

  test('knows nobody before its first snapshot', async (context) => {
    const { port } = await startRunning(context, [], { gateway: ['true'], ...quick });
    for (const path of [pods, '/version', '/apis']) {
      const { status, body } = await ask(port, { client: 'alice', path });
      assert.equal(status, 503);
      assert.match(body, /not known yet which API server/);
    }
    assert.equal(await readyz(port), 500);
  });
});
