import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/clients/ask.ts';
import { eventually } from '../support/eventually.ts';
import { jobs, pods, type Server, startCluster } from '../support/routers/health-cluster.ts';

/** Flags with which the router would look of itself after nine seconds at the earliest, and count to three. */
const slow = { 'health-check-interval': ['10s'] };
const countsToThree = { fall: 3 };

/** Killed, and back at once as a process that knows nobody's rights yet. */
async function restart(server: Server): Promise<void> {
  server.health = 'not-ready';
  await server.stop();
  server.forbids = true;
  await server.start();
}

function becomesReady(server: Server): void {
  server.health = 'ready';
  server.forbids = false;
}

/** Asks until `enough`; no answer before it may be anything but `allowed`. */
async function askUntil(
  answeredBy: (path: string) => Promise<string>,
  path: string,
  enough: string,
  allowed: RegExp,
): Promise<void> {
  await eventually(async () => {
    const answer = await answeredBy(path);
    if (answer !== enough) assert.match(answer, allowed);
    return answer === enough;
  });
}

describe('a server that was killed and is back before it is ready', () => {
  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`gets no request until its /readyz says so: there are no false 403s (${protocol})`, async (context) => {
      const { peers, answeredBy } = await startCluster(context, slow, protocol, countsToThree);
      const [restarted, other] = peers;
      await restart(restarted);
      for (let request = 0; request < 40; request++) assert.equal(await answeredBy(jobs), other.id);
      assert.deepEqual(restarted.requests, []);
      becomesReady(restarted);
      await askUntil(answeredBy, jobs, restarted.id, new RegExp(`^${other.id}$`));
    });

    test(`the same of a local server, in whose place peers answer (${protocol})`, async (context) => {
      const { local, answeredBy } = await startCluster(context, slow, protocol, countsToThree);
      await restart(local);
      for (let request = 0; request < 40; request++) assert.match(await answeredBy(pods), /^peer-/);
      becomesReady(local);
      await askUntil(answeredBy, pods, 'local', /^peer-/);
    });
  }

  test('where no other serves the resource the answer is 503 with Retry-After until it is ready', async (context) => {
    const { port, peers, answeredBy } = await startCluster(context, slow, 'h2', countsToThree);
    for (const peer of peers) await restart(peer);
    for (let request = 0; request < 20; request++) {
      const { status, headers, body } = await ask(port, { client: 'alice', path: jobs });
      assert.equal(status, 503, body);
      assert.match(body, /is not (ready|known) yet, please try again; the request was not carried out/);
      assert.deepEqual(allHeaders(headers, 'retry-after'), ['1']);
    }
    for (const peer of peers) assert.deepEqual(peer.requests, []);
    becomesReady(peers[0]);
    await askUntil(answeredBy, jobs, 'peer-1', /^503$/);
  });
});

/** Is down for a moment, and back in another version, as the router has found out. */
async function upgrade(server: Server, version: string): Promise<void> {
  await server.stop();
  server.version = version;
  server.ownRequests.length = 0;
  await server.start();
  await eventually(() => server.ownRequests.some(({ target }) => target === '/version'));
}

describe('a server that is back in another version than the snapshot has', () => {
  test('is passed over until a snapshot has it, for what was known of it is of the version of before', async (context) => {
    const { peers, answeredBy, push } = await startCluster(context, slow, 'h2', countsToThree);
    const [upgraded, other] = peers;
    await upgrade(upgraded, 'v1.31.0');
    for (let request = 0; request < 40; request++) assert.equal(await answeredBy(jobs), other.id);
    assert.deepEqual(upgraded.requests, []);
    await push(2);
    // The other one has the version that most servers have, and gets what both serve for as long as it is there.
    assert.equal(await answeredBy(jobs), other.id);
    await other.stop();
    await askUntil(answeredBy, jobs, upgraded.id, /^503$/);
  });

  test('gets nothing either where all that serve the resource were upgraded, until a snapshot has them: that is 503', async (context) => {
    const { local, peers, answeredBy, push } = await startCluster(context, slow, 'h2', countsToThree);
    for (const server of [local, ...peers]) await upgrade(server, 'v1.31.0');
    await askUntil(answeredBy, jobs, '503', /^(local|peer-\d)$/);
    assert.equal(await answeredBy(pods), '503');
    await push(2);
    await askUntil(answeredBy, pods, 'local', /^503$/);
  });
});

describe('a server that has departed', () => {
  test('and comes back makes what nobody is known to serve 503, until a snapshot says what it serves', async (context) => {
    const { peers, answeredBy, push, becomes } = await startCluster(context);
    const [back] = peers;
    const unknown = '/apis/apps/v1/namespaces/default/deployments';
    const departed = { [back.id]: { departedAt: '2026-11-29T12:00:00Z' } };
    await back.stop();
    await push(2, departed);
    back.version = 'v1.31.0';
    await back.start();
    await becomes(back, 'changed');
    for (let request = 0; request < 20; request++) assert.equal(await answeredBy(unknown), '503');
    await push(3);
    await askUntil(answeredBy, unknown, 'local', /^503$/);
  });
});

describe('a connection that breaks off', () => {
  test('under a server that is well has it passed over for one probe only', async (context) => {
    const { peers, answeredBy } = await startCluster(context, slow, 'h2', countsToThree);
    const [restarted] = peers;
    await restarted.stop();
    await restarted.start();
    await askUntil(answeredBy, jobs, restarted.id, /^peer-2$/);
  });
});
