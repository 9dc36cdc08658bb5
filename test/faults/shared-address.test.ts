import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask } from '../support/clients/ask.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, watch } from '../support/routers/health-cluster.ts';

const pods = '/api/v1/namespaces/default/pods';
const [before, after] = ['v1.30.0', 'v1.31.0'];

/** Which process responds, by its version; the status where none does. */
async function respondedBy(port: number): Promise<string> {
  const { status, body } = await ask(port, { client: 'alice', path: pods });
  return status === 200 ? JSON.parse(body).gitVersion : String(status);
}

/** Only the local server is there: whatever responds is one of its processes. */
async function alone(cluster: Cluster): Promise<void> {
  for (const peer of cluster.peers) {
    await peer.stop();
    await cluster.becomes(peer, 'down');
  }
}

describe('two processes behind one address', () => {
  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`once the Lease has another holder nothing new goes to the one of before (${protocol})`, async (context) => {
      const cluster = await startCluster(context, {}, protocol);
      const { port, local, push } = cluster;
      await alone(cluster);
      assert.equal(await respondedBy(port), before);
      local.version = after;
      await local.handOver();
      assert.equal(await respondedBy(port), before, 'nobody has said anything yet');
      local.version = before;
      await push(2, { local: { unread: true } });
      assert.notEqual(await respondedBy(port), before);
      local.version = after;
      await push(3);
      await eventually(async () => (await respondedBy(port)) === after);
      for (let request = 0; request < 20; request++) assert.equal(await respondedBy(port), after);
    });

    test(`once a snapshot has another version nothing new goes to the one of before (${protocol})`, async (context) => {
      const cluster = await startCluster(context, {}, protocol);
      const { port, local, push } = cluster;
      await alone(cluster);
      local.version = after;
      await local.handOver();
      await push(2);
      await eventually(async () => (await respondedBy(port)) === after);
      for (let request = 0; request < 20; request++) assert.equal(await respondedBy(port), after);
    });
  }

  test('a watch stays at the process that it was opened at', async (context) => {
    const { port, peers, push } = await startCluster(context);
    const watching = await watch(context, port);
    const [server] = peers[0].watches.length > 0 ? peers : peers.toReversed();
    assert.ok(server);
    await server.handOver();
    await push(2, { [server.id]: { unread: true } });
    const event = new Promise((resolve) => watching.once('data', resolve));
    server.watches[0]?.write('{"type":"MODIFIED"}\n');
    assert.match(String(await event), /MODIFIED/);
  });
});
